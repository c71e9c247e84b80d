//! What was asked for where a name offended.

/// An operation that records are of. docs/audit.md lists all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// A name too long for any entry was looked up.
    Lookup,
    /// A file was made by opening it.
    Create,
    /// A directory was made.
    Mkdir,
    /// A device, a FIFO, a socket or a file was made.
    Mknod,
    /// A symlink was made.
    Symlink,
    /// A hard link was made.
    Link,
    /// An entry was renamed.
    Rename,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Lookup,
        Self::Create,
        Self::Mkdir,
        Self::Mknod,
        Self::Symlink,
        Self::Link,
        Self::Rename,
    ];

    /// The stable name, as in JSON.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Lookup => "lookup",
            Self::Create => "create",
            Self::Mkdir => "mkdir",
            Self::Mknod => "mknod",
            Self::Symlink => "symlink",
            Self::Link => "link",
            Self::Rename => "rename",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Operation;

    /// The list cannot lack one unseen: the number of each is its place.
    #[test]
    fn all_operations_are_in_the_list() {
        let last = Operation::Rename as usize;
        assert_eq!(Operation::ALL.len(), last + 1);
        for (place, operation) in Operation::ALL.into_iter().enumerate() {
            assert_eq!(operation as usize, place);
        }
    }

    /// The operations of the page on the audit log are those that can be recorded.
    #[test]
    fn the_page_lists_each_operation_and_no_other() {
        let page = include_str!("../../../docs/audit.md");
        let row = page
            .lines()
            .find(|line| line.starts_with("| `operation` |"));
        let told = row.unwrap().split('|').nth(4).unwrap();
        let mut told: Vec<&str> = told.split('`').skip(1).step_by(2).collect();
        let mut all = Operation::ALL.map(Operation::label).to_vec();
        told.sort_unstable();
        all.sort_unstable();
        assert_eq!(told, all);
    }
}
