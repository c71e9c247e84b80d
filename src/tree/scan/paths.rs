//! Paths of a scan.

/// Returns the path of `name` below `above`, either of which may be empty.
#[must_use]
pub fn joined(above: &[u8], name: &[u8]) -> Vec<u8> {
    let slash: &[u8] = match (above, name) {
        ([], _) | (_, []) | ([.., b'/'], _) => b"",
        _ => b"/",
    };
    [above, slash, name].concat()
}
