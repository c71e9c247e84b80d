//! The plan of a migration, which people can read and edit before it is done (law T1).
//!
//! [`plan_directory`] decides on each name of one directory, from its listing alone. [`planner`] walks a tree and has
//! each directory planned. [`plan_reader`] reads a plan from a file.

mod charset_choice;
mod collisions;
mod directory_plan;
mod filter;
mod name_change;
mod name_spelling;
mod name_steps;
pub mod plan_directory;
mod plan_observer;
mod plan_options;
pub mod plan_reader;
mod plan_summary;
mod plan_text;
mod planned_links;
mod planned_names;
pub mod planner;
mod readable_plan;
mod symlink_targets;

pub use super::entry_list::{EntryList, ListedEntry};
pub use crate::names::CharsetSource;
pub use charset_choice::CharsetChoice;
pub use collisions::Same;
pub use directory_plan::DirectoryPlan;
pub use filter::Filter;
pub use plan_observer::PlanObserver;
pub use plan_options::{OnCollision, PlanOptions};
pub use plan_summary::{Cause, DirectorySummary, PlanCounts, PlanSummary};
pub use plan_text::PlanFormat;
pub use planned_links::PlannedLinks;
pub use planned_names::{FollowingLinks, PlannedNames};
