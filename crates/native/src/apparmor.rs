//! AppArmor's switch on user namespaces, which Ubuntu has on since 23.10.
//!
//! A program that no profile names may still make a user namespace there, and is put under a profile that denies every
//! capability in it; where that one is not loaded, it may not make any. So a profile with `userns` is what helps, and
//! [`Standing`] says whether this program has one. Two small files are read; whether the profile is any good only a trial tells.

use std::fs;
use std::path::{Path, PathBuf};

use cofferdam_core::caps::Lack;

/// The name of the profile that is suggested, and of its file.
const NAME: &str = "cofferdam";
const SWITCH: &str = "kernel.apparmor_restrict_unprivileged_userns";

/// How a program without root stands with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// The kernel has no such switch.
    NoSwitch,
    Off,
    /// On, and no profile is this program's.
    Restricted(Lack),
    Profiled(Profiled),
}

/// Under a profile, whose own rules decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profiled {
    /// As the kernel writes it, with the mode in brackets.
    pub label: String,
    program: PathBuf,
}

impl Profiled {
    /// What to say where a trial was denied all the same.
    pub fn denied(&self) -> Lack {
        let own = self.label.split(' ').next() == Some(NAME);
        let elsewhere = "start cofferdam where that profile does not reach, as from a login";
        Lack {
            reason: format!("{SWITCH} is set, and the profile {} allows too little", self.label),
            remedy: if own { remedy(&self.program) } else { elsewhere.to_owned() },
        }
    }
}

impl Standing {
    pub fn read() -> Self {
        let read = |path: &str| {
            let text = fs::read_to_string(path).ok()?;
            Some(text.trim_end_matches(['\n', '\0']).to_owned())
        };
        let program = fs::read_link("/proc/self/exe").unwrap_or_default();
        Self::judge(
            read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").as_deref(),
            // Not attr/current, which speaks for one of the security modules, and not always for this one.
            read("/proc/self/attr/apparmor/current").as_deref(),
            &program,
        )
    }

    /// By the value of the switch, the label and the path of a program.
    pub fn judge(switch: Option<&str>, label: Option<&str>, program: &Path) -> Self {
        match (switch, label) {
            (None, _) => Self::NoSwitch,
            (Some("0"), _) => Self::Off,
            (Some(_), Some(label)) if label != "unconfined" => {
                Self::Profiled(Profiled { label: label.to_owned(), program: program.to_owned() })
            }
            (Some(_), _) => Self::Restricted(Lack {
                reason: format!(
                    "AppArmor lets only programs with a profile use user namespaces ({SWITCH} = 1), and \
                     this one has none"
                ),
                remedy: remedy(program),
            }),
        }
    }
}

/// One line for a shell, which does the whole of it and lasts over a restart.
///
/// The profile is in the mode that confines nothing: it is there to give, not to take. It holds for one path and no other.
fn remedy(program: &Path) -> String {
    let Some(path) = program.to_str().filter(|path| is_plain(path)) else {
        return "sudo install cofferdam /usr/local/bin/cofferdam, and start that one: the path of this program \
                cannot be written in an AppArmor profile"
            .to_owned();
    };
    let file = format!("/etc/apparmor.d/{NAME}");
    format!(
        "echo 'abi <abi/4.0>, profile {NAME} \"{path}\" flags=(unconfined) {{ userns, }}' | sudo tee {file} && \
         sudo apparmor_parser -r {file}"
    )
}

/// Whether a path means itself in a profile, where some signs are patterns, and in a shell's quotes.
fn is_plain(path: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "/._-+:,=~ ".contains(c);
    path.starts_with('/') && path.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(switch: Option<&str>, label: Option<&str>) -> Standing {
        Standing::judge(switch, label, Path::new("/opt/a b/cofferdam"))
    }

    fn restricted(standing: Standing) -> Lack {
        match standing {
            Standing::Restricted(lack) => lack,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_where_it_is_on_does_a_profile_count() {
        assert_eq!(judge(None, None), Standing::NoSwitch);
        assert_eq!(judge(Some("0"), Some("unconfined")), Standing::Off);
        restricted(judge(Some("1"), Some("unconfined")));
        // A label that cannot be read is none.
        restricted(judge(Some("1"), None));
        let with = judge(Some("1"), Some("cofferdam (unconfined)"));
        assert!(matches!(with, Standing::Profiled(one) if one.label == "cofferdam (unconfined)"));
    }

    #[test]
    fn the_remedy_is_a_profile_for_this_very_path() {
        let lack = restricted(judge(Some("1"), Some("unconfined")));
        assert!(lack.reason.contains("AppArmor"), "{lack:?}");
        assert_eq!(
            lack.remedy,
            "echo 'abi <abi/4.0>, profile cofferdam \"/opt/a b/cofferdam\" flags=(unconfined) { userns, }' | \
             sudo tee /etc/apparmor.d/cofferdam && sudo apparmor_parser -r /etc/apparmor.d/cofferdam"
        );
    }

    #[test]
    fn a_path_that_means_more_than_itself_is_not_written_down() {
        for odd in
            ["/a*", "/a'b", "/a\"b", "/{a,b}", "/@{HOME}", "/a\\b", "/a\nb", "/a (deleted)", "b"]
        {
            let remedy = remedy(Path::new(odd));
            assert!(remedy.starts_with("sudo install cofferdam "), "{odd:?}: {remedy}");
        }
    }

    #[test]
    fn a_profile_that_denies_is_replaced_where_it_is_ours_and_left_where_it_is_not() {
        let denied = |label| match judge(Some("1"), Some(label)) {
            Standing::Profiled(profiled) => profiled.denied(),
            other => panic!("{other:?}"),
        };
        assert!(denied("cofferdam (enforce)").remedy.starts_with("echo 'abi"));
        let of_another = denied("unprivileged_userns (enforce)");
        assert!(of_another.reason.contains("unprivileged_userns (enforce)"), "{of_another:?}");
        assert!(!of_another.remedy.contains("apparmor_parser"), "{of_another:?}");
    }
}
