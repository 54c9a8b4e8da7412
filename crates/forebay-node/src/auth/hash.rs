//! What is kept of a password.
//!
//! Owns [`Hash`], in the formats of Mosquitto's password file: `$7$` (PBKDF2 with SHA-512), `$6$`
//! (SHA-512 of password and salt) and the `$argon2id$` of the PHC string format. What a hash costs
//! to check is bounded when it is read, so that a line of the file can't stop a thread for long.
//! Hashes are compared in constant time.

use std::{fmt, num::NonZeroU32};

use argon2::{Algorithm, Argon2, Params, Version};
use base64::{Engine, engine::general_purpose};
use ring::{
    digest, hmac, pbkdf2,
    rand::{SecureRandom, SystemRandom},
};
use thiserror::Error;

/// Rounds of a `$7$` at most.
const ROUNDS_MAX: u32 = 10_000_000;
/// Memory of an `$argon2id$` at most, KiB.
const MEMORY_MAX: u32 = 256 * 1024;
/// Passes of an `$argon2id$` at most.
const PASSES_MAX: u32 = 64;
/// Lanes of an `$argon2id$` at most.
const LANES_MAX: u32 = 16;
/// Bytes of a salt.
const SALT: std::ops::RangeInclusive<usize> = 1..=64;

/// What a new argon2id hash costs: 19 MiB, two passes, one lane.
const MEMORY: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;
/// Rounds of a new `$7$`.
const ROUNDS: u32 = 210_000;

/// How a new password is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HashFormat {
    /// argon2id, as a PHC string.
    #[default]
    Argon2id,
    /// PBKDF2 with SHA-512, which every Mosquitto reads.
    Mosquitto,
}

/// What is kept of a password. `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Hash {
    kind: Kind,
    salt: Vec<u8>,
    key: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sha512,
    Pbkdf2 {
        rounds: NonZeroU32,
    },
    Argon2id {
        memory: u32,
        passes: u32,
        lanes: u32,
    },
}

/// Why a text is no hash, or none can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HashError {
    /// It begins like none that is known: make it anew.
    #[error("no hash of a known kind ($argon2id$, $7$ or $6$)")]
    Unknown,
    /// It is cut or misspelled: make it anew.
    #[error("cut or malformed hash")]
    Malformed,
    /// It would take too long or too much memory to check: make it anew, cheaper.
    #[error("the hash costs more than is allowed")]
    Costly,
    /// The system gave no random bytes: try again.
    #[error("no random bytes")]
    Random,
}

impl Hash {
    /// A new hash of `password`, with a salt of its own.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn new(password: &[u8], format: HashFormat) -> Result<Self, HashError> {
        let mut salt = vec![0; 16];
        SystemRandom::new()
            .fill(&mut salt)
            .map_err(|_| HashError::Random)?;
        let (kind, length) = match format {
            HashFormat::Argon2id => (
                Kind::Argon2id {
                    memory: MEMORY,
                    passes: PASSES,
                    lanes: LANES,
                },
                32,
            ),
            HashFormat::Mosquitto => (
                Kind::Pbkdf2 {
                    rounds: NonZeroU32::new(ROUNDS).unwrap_or(NonZeroU32::MIN),
                },
                64,
            ),
        };
        let key = kind
            .derive(password, &salt, length)
            .ok_or(HashError::Malformed)?;
        Ok(Self { kind, salt, key })
    }

    /// The hash in `text`, as it stands behind the name in a password file.
    ///
    /// # Errors
    /// [`HashError`], by what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, HashError> {
        let mut parts = text.strip_prefix('$').ok_or(HashError::Unknown)?.split('$');
        let mut next = || parts.next().ok_or(HashError::Malformed);
        let (kind, decode): (_, Decode) = match next()? {
            "6" => (Kind::Sha512, padded),
            "7" => {
                let rounds = number(next()?, ROUNDS_MAX)?;
                let rounds = NonZeroU32::new(rounds).ok_or(HashError::Malformed)?;
                (Kind::Pbkdf2 { rounds }, padded)
            }
            "argon2id" => {
                if next()? != "v=19" {
                    return Err(HashError::Malformed);
                }
                (costs(next()?)?, unpadded)
            }
            _ => return Err(HashError::Unknown),
        };
        let salt = decode(next()?).ok_or(HashError::Malformed)?;
        let key = decode(next()?).ok_or(HashError::Malformed)?;
        if parts.next().is_some() || !SALT.contains(&salt.len()) || !kind.has_key_of(key.len()) {
            return Err(HashError::Malformed);
        }
        Ok(Self { kind, salt, key })
    }

    /// The text for a password file.
    pub fn text(&self) -> String {
        let engine = match self.kind {
            Kind::Argon2id { .. } => general_purpose::STANDARD_NO_PAD,
            Kind::Sha512 | Kind::Pbkdf2 { .. } => general_purpose::STANDARD,
        };
        let (salt, key) = (engine.encode(&self.salt), engine.encode(&self.key));
        match self.kind {
            Kind::Sha512 => format!("$6${salt}${key}"),
            Kind::Pbkdf2 { rounds } => format!("$7${rounds}${salt}${key}"),
            Kind::Argon2id {
                memory,
                passes,
                lanes,
            } => format!("$argon2id$v=19$m={memory},t={passes},p={lanes}${salt}${key}"),
        }
    }

    /// Whether it is the hash of `password`. Takes as long as it was made to take.
    pub fn is_of(&self, password: &[u8]) -> bool {
        self.kind
            .derive(password, &self.salt, self.key.len())
            .is_some_and(|key| equal(&key, &self.key))
    }

    /// A hash of nothing anyone knows, that costs what this one does.
    pub(super) fn decoy(&self) -> Self {
        Self {
            key: vec![0; self.key.len()],
            ..self.clone()
        }
    }
}

impl Kind {
    /// Whether a key is as long as it is made. A line of a file that was cut has a shorter one.
    const fn has_key_of(self, length: usize) -> bool {
        match self {
            Self::Sha512 | Self::Pbkdf2 { .. } => length == 64,
            Self::Argon2id { .. } => length == 32 || length == 64,
        }
    }

    fn derive(self, password: &[u8], salt: &[u8], length: usize) -> Option<Vec<u8>> {
        match self {
            Self::Sha512 => {
                let mut context = digest::Context::new(&digest::SHA512);
                context.update(password);
                context.update(salt);
                Some(context.finish().as_ref().to_vec())
            }
            Self::Pbkdf2 { rounds } => {
                let mut key = vec![0; length];
                pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA512, rounds, salt, password, &mut key);
                Some(key)
            }
            Self::Argon2id {
                memory,
                passes,
                lanes,
            } => {
                let params = Params::new(memory, passes, lanes, Some(length)).ok()?;
                let mut key = vec![0; length];
                Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
                    .hash_password_into(password, salt, &mut key)
                    .ok()?;
                Some(key)
            }
        }
    }
}

/// Compares in a time that says nothing about where two keys differ.
fn equal(left: &[u8], right: &[u8]) -> bool {
    // The tags of both under the same key are equal only if they are; verifying is constant time.
    let key = hmac::Key::new(hmac::HMAC_SHA256, b"compare");
    hmac::verify(&key, left, hmac::sign(&key, right).as_ref()).is_ok()
}

/// Base64 to bytes.
type Decode = fn(&str) -> Option<Vec<u8>>;

fn padded(text: &str) -> Option<Vec<u8>> {
    general_purpose::STANDARD.decode(text).ok()
}

fn unpadded(text: &str) -> Option<Vec<u8>> {
    general_purpose::STANDARD_NO_PAD.decode(text).ok()
}

fn number(text: &str, most: u32) -> Result<u32, HashError> {
    match text.parse::<u32>() {
        Ok(value) if value > most => Err(HashError::Costly),
        Ok(value) => Ok(value),
        Err(_) => Err(HashError::Malformed),
    }
}

fn costs(text: &str) -> Result<Kind, HashError> {
    let mut costs = text.split(',');
    let mut cost = |name: &str, most| {
        let value = costs.next().and_then(|cost| cost.strip_prefix(name));
        number(value.ok_or(HashError::Malformed)?, most)
    };
    Ok(Kind::Argon2id {
        memory: cost("m=", MEMORY_MAX)?,
        passes: cost("t=", PASSES_MAX)?,
        lanes: cost("p=", LANES_MAX)?,
    })
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({:?})", self.kind)
    }
}

#[cfg(test)]
mod tests;
