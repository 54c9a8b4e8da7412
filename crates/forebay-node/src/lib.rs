//! The tokio drivers of the Forebay roles.
