//! A mount from start to end: options in force, mounting, sandbox, readiness, the policy, and the audit log.

pub mod auditor;
pub mod command_error;
pub mod confinement;
pub mod fuse_mount;
pub mod mount_config;
mod mount_flags;
pub mod mount_life;
pub mod mount_paths;
pub mod mount_policy;
pub mod policy_reload;
pub mod program_log;
pub mod session;
