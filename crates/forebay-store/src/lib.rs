//! Durable message queues on one segmented log.
