//! Tables of text.

use unicode_width::UnicodeWidthStr;

/// Returns the rows with each column as wide on a terminal as its widest cell; those in `right` are flush right.
pub(super) fn columns(rows: &[impl AsRef<[String]>], right: &[usize]) -> Vec<String> {
    let width = |index: usize| {
        let cells = rows.iter().filter_map(|row| row.as_ref().get(index));
        cells.map(|cell| cell.width()).max().unwrap_or(0)
    };
    let cell = |(index, cell): (usize, &String)| {
        let space = " ".repeat(width(index) - cell.width());
        if right.contains(&index) {
            space + cell
        } else {
            cell.to_owned() + &space
        }
    };
    rows.iter()
        .map(|row| {
            let cells: Vec<String> = row.as_ref().iter().enumerate().map(cell).collect();
            cells.join("  ").trim_end().to_owned()
        })
        .collect()
}

/// Returns the row of titles, which a bar separates.
pub(super) fn head(titles: &str) -> Vec<String> {
    titles.split('|').map(str::to_owned).collect()
}

/// Returns the text with spaces up to a width on a terminal, at least one.
pub(super) fn padded(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.width()).max(1);
    format!("{text}{}", " ".repeat(missing))
}

#[cfg(test)]
mod tests {
    use super::columns;

    #[test]
    fn columns_are_aligned_by_their_width_on_a_terminal() {
        let rows = [["日本", "1", "a"], ["b", "20", ""]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(columns(&rows, &[1]), ["日本   1  a", "b     20"]);
    }
}
