//! Names as they lie on old disks.

/// A file with a name of the old kind.
#[derive(Debug)]
pub(super) struct OldName {
    /// The sub-directory it is in.
    pub(super) directory: &'static str,
    /// Its name.
    pub(super) bytes: Vec<u8>,
    /// A description of the name, for a person who has not heard of it.
    pub(super) what: &'static str,
}

impl OldName {
    /// Returns the file's content: another text in each.
    pub(super) fn content(&self) -> String {
        format!("{}: {}\n", self.directory, self.what)
    }
}

/// All files, those of a directory one after the other.
pub(super) fn old_names() -> Vec<OldName> {
    let letters: Vec<u8> = (0xE0..=0xFF).filter(|&octet| octet != 0xF7).collect();
    let long: Vec<u8> = letters.iter().copied().cycle().take(200).collect();
    let long = [&long, &b".txt"[..]].concat();
    let rows: [(&str, &[u8], &str); 13] = [
        ("latin-1", b"caf\xE9.txt", "Latin-1"),
        ("latin-1", &long, "Latin-1, 200 letters"),
        ("cp1252", b"5 \x80.txt", "CP1252"),
        ("shift_jis", b"\x93\xFA\x96\x7B.txt", "Shift_JIS"),
        ("koi8-r", b"\xED\xC9\xD2.txt", "KOI8-R"),
        (
            "broken",
            b"caf\xC3\x83\xC2\xA9.txt",
            "encoded twice, but UTF-8",
        ),
        ("broken", b"etc\xC0\xAFpasswd", "a slash, overlong"),
        ("broken", b"a\xC0\x80b", "a NUL, overlong"),
        ("broken", b"\xED\xA0\x80.txt", "a surrogate of UTF-16"),
        ("broken", b"\xFD\xBF\xBF\xBF\xBF\xBF", "UTF-8 until 2003"),
        ("hostile", b"two\nlines.txt", "looks like two files"),
        ("hostile", b"\x1B[31mred.txt", "paints the terminal red"),
        (
            "hostile",
            b"photo\xE2\x80\xAEgpj.exe",
            "looks like photoexe.jpg",
        ),
    ];
    rows.map(|(directory, bytes, what)| OldName {
        directory,
        bytes: bytes.to_vec(),
        what,
    })
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::NAME_MAX;

    #[test]
    fn no_two_files_have_one_content_and_each_can_lie_on_disk() {
        let names = old_names();
        let mut contents: Vec<_> = names.iter().map(OldName::content).collect();
        contents.sort();
        contents.dedup();
        assert_eq!(contents.len(), names.len());
        assert!(names.iter().all(|name| name.bytes.len() <= NAME_MAX));
    }
}
