//! Every setting that changes what names become.

use utf8fs::codec::{Charset, Form};
use utf8fs::policy::{Alike, Policy, Profile};

use super::laws::{Legacy, OnViolation, Settings};

pub(crate) const LEGACY: [Legacy; 4] = [Legacy::Decode, Legacy::Escape, Legacy::Raw, Legacy::Hide];
pub(crate) const ON_VIOLATION: [OnViolation; 3] = [
    OnViolation::Reject,
    OnViolation::Normalize,
    OnViolation::Report,
];
pub(crate) const PROFILES: [Profile; 4] = [
    Profile::Utf8,
    Profile::Safe,
    Profile::Portable,
    Profile::Posix,
];

/// Options of the command line, and what they mean.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    pub(crate) options: Vec<String>,
    pub(crate) meaning: Settings,
}

impl Setting {
    pub(crate) fn new(
        legacy: Legacy,
        on_violation: OnViolation,
        profile: Profile,
        form: Option<Form>,
        from: &[&str],
    ) -> Self {
        let legacy_label = match legacy {
            Legacy::Decode => "decode",
            Legacy::Escape => "escape",
            Legacy::Raw => "raw",
            Legacy::Hide => "hide",
        };
        let violation_label = match on_violation {
            OnViolation::Reject => "reject",
            OnViolation::Normalize => "normalize",
            OnViolation::Report => "report",
        };
        let profile_label = match profile {
            Profile::Utf8 => "utf8",
            Profile::Safe => "safe",
            Profile::Portable => "portable",
            Profile::Posix => "posix",
        };
        let mut options = vec!["--legacy", legacy_label];
        options.extend(["--on-violation", violation_label]);
        options.extend(["--profile", profile_label]);
        if let Some(form) = form {
            options.extend(["--normalization", form.into()]);
        }
        let list = from.join(",");
        if !from.is_empty() {
            options.extend(["--from", &list]);
        }
        Self {
            options: options.into_iter().map(str::to_owned).collect(),
            meaning: Settings {
                policy: Policy {
                    form,
                    ..profile.policy()
                },
                legacy,
                from: from
                    .iter()
                    .map(|label| Charset::from_label(label).unwrap())
                    .collect(),
                store_as: None,
                on_violation,
                unique: None,
            },
        }
    }

    /// N12: new names are stored in the first charset of `from`.
    fn storing(mut self) -> Self {
        self.meaning.store_as = self.meaning.from.first().copied();
        let label = self.meaning.from.first().map(|charset| charset.label());
        self.options
            .extend(label.map(|label| format!("--store-as={label}")));
        self
    }

    /// No two names may differ in case or form alone.
    fn without_clashes(mut self, alike: Alike) -> Self {
        self.meaning.unique = Some(alike);
        self.options
            .push(format!("--unique={}", <&str>::from(alike)));
        self
    }

    pub(crate) fn options(&self) -> Vec<&str> {
        self.options.iter().map(String::as_str).collect()
    }
}

/// Charsets that are tried, by turns.
const CHARSETS: [&[&str]; 3] = [
    &["windows-1252"],
    &["iso-8859-1"],
    &["shift_jis", "iso-8859-1"],
];

/// The settings of one `--legacy`: every `--on-violation` and `--profile`, and some with a wanted form.
pub(crate) fn all_of(legacy: Legacy) -> Vec<Setting> {
    let mut settings = Vec::new();
    for on_violation in ON_VIOLATION {
        let forms = [(Form::Nfc, Profile::Utf8), (Form::Nfd, Profile::Safe)];
        let plain = PROFILES.map(|profile| (None, profile));
        let formed = forms.map(|(form, profile)| (Some(form), profile));
        for (form, profile) in plain.into_iter().chain(formed) {
            let turn = CHARSETS[settings.len() % CHARSETS.len()];
            let from: &[&str] = match (legacy, on_violation) {
                (Legacy::Decode, _) => turn,
                // Names that exist are not decoded then, but new ones are.
                (_, OnViolation::Normalize) if profile != Profile::Portable => turn,
                _ => &[],
            };
            let setting = Setting::new(legacy, on_violation, profile, form, from);
            if legacy == Legacy::Decode && matches!(profile, Profile::Utf8 | Profile::Safe) {
                settings.push(setting.clone().storing());
            }
            if profile == Profile::Utf8 {
                let alike = form.map_or(Alike::Casefold, |_| Alike::Nfc);
                settings.push(setting.clone().without_clashes(alike));
            }
            settings.push(setting);
        }
    }
    settings
}
