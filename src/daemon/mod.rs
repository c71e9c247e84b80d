//! What is assembled for a mount, and what becomes of it: mounting, readiness, the audit log, the end.

pub mod ask;
pub mod audit;
pub mod mount;
pub mod mountinfo;
pub mod session;
pub mod transport;
