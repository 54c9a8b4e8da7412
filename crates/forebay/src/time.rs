//! Times as they are typed and printed. Nanoseconds since 1970.

use jiff::Timestamp;

/// A time out of RFC 3339, or out of seconds since 1970 with or without a fraction.
///
/// # Errors
/// When it is neither, or lies before 1970 or too far ahead to be counted.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let seconds = || {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > 9 {
            return None;
        }
        let nanos: u64 = format!("{fraction:0<9}").parse().ok()?;
        let whole: u64 = whole.parse().ok()?;
        whole.checked_mul(1_000_000_000)?.checked_add(nanos)
    };
    let moment = || {
        let at: Timestamp = text.parse().ok()?;
        u64::try_from(at.as_nanosecond()).ok()
    };
    seconds()
        .or_else(moment)
        .ok_or_else(|| "write it as 2026-01-31T08:00:00Z, or as seconds since 1970".to_owned())
}

/// A time as RFC 3339 in UTC: to the millisecond, or to the nanosecond where that says more.
pub(crate) fn show(nanos: u64) -> String {
    let Ok(at) = Timestamp::from_nanosecond(i128::from(nanos)) else {
        return nanos.to_string();
    };
    if nanos.is_multiple_of(1_000_000) {
        format!("{at:.3}")
    } else {
        format!("{at:.9}")
    }
}

#[cfg(test)]
mod tests;
