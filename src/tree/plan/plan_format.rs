//! A plan as it is written to a file.

use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};

use super::directory_plan::DirectoryPlan;
use crate::names::Quoted;
use crate::records::{PLAN_VERSION, PlanEnd, PlanHeader, PlanLine, json_line};

/// Format of a plan.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, EnumMessage, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum PlanFormat {
    /// A line of JSON for each entry, for programs
    Json,
    /// The old and the new name in quotes, a line for each change, for people; names that stay are comments
    Readable,
}

impl PlanFormat {
    /// Returns the start of a tree, by the absolute path of its root and the options that it is planned with.
    pub fn header(self, root: &[u8], options: &str) -> String {
        match self {
            Self::Json => {
                let header = PlanHeader {
                    version: PLAN_VERSION,
                    root: root.to_vec().into(),
                    options: options.to_owned(),
                };
                json_line(&header) + "\n"
            }
            Self::Readable => {
                let (root, options) = (Quoted(root), Quoted(options.as_bytes()));
                format!("plan {PLAN_VERSION} of {root} by {options}\n")
            }
        }
    }

    /// Returns the lines of a directory.
    pub fn directory(self, plan: &DirectoryPlan) -> String {
        let lines = plan.lines.iter();
        match (self, plan.lines.first()) {
            (Self::Json, _) => lines.map(|line| json_line(line) + "\n").collect(),
            (Self::Readable, None) => String::new(),
            (Self::Readable, Some(first)) => {
                let path = [b"/".as_slice(), &plan.path()].concat();
                let inode = first.directory_inode;
                let lines: String = lines.map(PlanLine::readable).collect();
                format!("\nin {} {inode}\n{lines}", Quoted(&path))
            }
        }
    }

    /// Returns the end of the plan.
    pub fn end(self) -> String {
        let version = PLAN_VERSION;
        match self {
            Self::Json => json_line(&PlanEnd { version }) + "\n",
            Self::Readable => format!("\nend of plan {version}\n"),
        }
    }
}
