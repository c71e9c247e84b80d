//! Private-use characters that stand for those which Windows refuses in names.

use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};

/// A way in which such characters are chosen, as in `fs/smb/client/cifs_unicode.h` of Linux.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, EnumMessage, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum PrivateUse {
    /// Services for Macintosh: U+F020..U+F029, also of macOS, Samba's fruit module and cifs (mapposix)
    Sfm,
    /// Services for Unix: U+F000 and the character's number, also of Cygwin and cifs (mapchars)
    Sfu,
}

impl PrivateUse {
    /// Returns the text that such characters stand for; `None` if there are none.
    pub fn restored(self, text: &str) -> Option<String> {
        let restored: String = text.chars().map(|c| self.meant(c).unwrap_or(c)).collect();
        (restored != text).then_some(restored)
    }

    fn meant(self, c: char) -> Option<char> {
        match self {
            Self::Sfm => {
                let index = u32::from(c).checked_sub(0xF020)?;
                r#""*:<>?\| ."#.chars().nth(usize::try_from(index).ok()?)
            }
            Self::Sfu => r#""*:<>?\|"#
                .chars()
                .find(|meant| u32::from(*meant) + 0xF000 == u32::from(c)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::PrivateUse;

    #[test]
    fn characters_are_mapped_as_the_tables_of_linux_say_and_no_others() {
        let sfm =
            "\u{F020}\u{F021}\u{F022}\u{F023}\u{F024}\u{F025}\u{F026}\u{F027}\u{F028}\u{F029}";
        let sfu = "\u{F022}\u{F02A}\u{F03A}\u{F03C}\u{F03E}\u{F03F}\u{F05C}\u{F07C}";
        for (map, text, meant) in [
            (PrivateUse::Sfm, sfm, r#""*:<>?\| ."#),
            (PrivateUse::Sfu, sfu, r#""*:<>?\|"#),
        ] {
            assert_eq!(map.restored(text).unwrap(), meant);
            // Neither NUL, a control character nor a separator.
            let others = ('\u{E000}'..='\u{F8FF}').filter(|c| !text.contains(*c));
            let others: String = others.collect();
            assert_eq!(map.restored(&others), None);
        }
    }
}
