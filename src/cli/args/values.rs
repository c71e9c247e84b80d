//! The words that options take, for clap.

use std::sync::LazyLock;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use strum::{EnumMessage, VariantArray};

use super::audit::TimeUnit;
use super::status::StatusFormat;
use crate::codec::{Encoding, Form, Repair};
use crate::daemon::audit::Format;
use crate::daemon::transport::Uring;
use crate::fs::LocksAt;
use crate::fuse::Passthrough;
use crate::names::rules::Mode;
use crate::names::{Legacy, OnViolation};
use crate::os::Sandbox;
use crate::policy::{Alike, Class, ErrnoChoice, Normalization, Profile, RuleName};
use crate::tree::plan::OnCollision;

/// A value of an option, with its word and its help: those of the enum's variants.
///
/// The layers below know nothing of clap, so that their enums are wrapped here.
macro_rules! values {
    ($(#[$doc:meta])* $name:ident($inner:ty) = $values:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name(pub $inner);

        impl $name {
            /// Returns the word as it is typed.
            #[must_use]
            pub fn word(self) -> &'static str {
                self.0.into()
            }

            /// Returns what the help says about the value.
            #[must_use]
            pub fn help(self) -> &'static str {
                let help = self.0.get_message().or(self.0.get_documentation());
                help.unwrap_or_default()
            }
        }

        impl ValueEnum for $name {
            fn value_variants<'a>() -> &'a [Self] {
                static ALL: LazyLock<Vec<$name>> =
                    LazyLock::new(|| $values.iter().copied().map($name).collect());
                &ALL
            }

            fn to_possible_value(&self) -> Option<PossibleValue> {
                Some(PossibleValue::new(self.word()).help(self.help()))
            }
        }
    };
}

values! {
    /// `--profile`.
    ProfileValue(Profile) = Profile::VARIANTS
}

values! {
    /// `migrate --normalize`.
    NormalizeValue(Form) = Form::VARIANTS
}

values! {
    /// `--normalization`.
    NormalizationValue(Normalization) = Normalization::VARIANTS
}

values! {
    /// `migrate --on-collision`.
    CollisionValue(OnCollision) = OnCollision::VARIANTS
}

values! {
    /// `--passthrough`.
    PassthroughValue(Passthrough) = Passthrough::VARIANTS
}

values! {
    /// `--unique`.
    UniqueValue(Alike) = Alike::VARIANTS
}

values! {
    /// `--forbid`: the profile posix alone forbids the last class.
    ForbidValue(Class) = Class::VARIANTS.split_last().map_or(&[][..], |(_, rest)| rest)
}

values! {
    /// `mount --encoding`.
    MountEncodingValue(Encoding) = Encoding::MOUNTABLE
}

values! {
    /// `explain --encoding`.
    EncodingValue(Encoding) = Encoding::VARIANTS
}

values! {
    /// `convert --lossy`.
    LossyValue(Repair) = Repair::VARIANTS
}

values! {
    /// `--legacy`.
    LegacyValue(Legacy) = Legacy::VARIANTS
}

values! {
    /// `--on-violation`.
    OnViolationValue(OnViolation) = OnViolation::VARIANTS
}

values! {
    /// `mode` of a policy file.
    ModeValue(Mode) = Mode::VARIANTS
}

values! {
    /// `--errno`.
    ErrnoValue(ErrnoChoice) = ErrnoChoice::VARIANTS
}

values! {
    /// `--locks`.
    LocksValue(LocksAt) = LocksAt::VARIANTS
}

values! {
    /// `--uring`.
    UringValue(Uring) = Uring::VARIANTS
}

values! {
    /// `--sandbox`.
    SandboxValue(Sandbox) = Sandbox::VARIANTS
}

values! {
    /// `--audit-format`.
    AuditFormatValue(Format) = Format::VARIANTS
}

values! {
    /// `audit --rule`: a name that is no component of a path reaches no mount.
    OffenceValue(RuleName) = RuleName::VARIANTS.split_last().map_or(&[][..], |(_, rest)| rest)
}

values! {
    /// `audit --by`.
    UnitValue(TimeUnit) = TimeUnit::VARIANTS
}

values! {
    /// `status --format`.
    StatusFormatValue(StatusFormat) = StatusFormat::VARIANTS
}
