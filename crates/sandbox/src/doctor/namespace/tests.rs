use super::*;
use crate::doctor::Status;

fn refused(errno: rustix::io::Errno) -> Trial {
    Trial::Refused(io::Error::from_raw_os_error(errno.raw_os_error()))
}

#[test]
fn each_namespace_has_its_own_id() {
    let mut ids: Vec<_> = Namespace::ALL.into_iter().map(|one| question(one).id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), Namespace::ALL.len());
}

#[test]
fn only_root_does_without_a_user_namespace() {
    let status = |ns, who| judge(ns, refused(rustix::io::Errno::PERM), who).status;
    assert_eq!(status(Namespace::User, Who::Ordinary), Status::Fail);
    assert_eq!(status(Namespace::User, Who::Root), Status::Warn);
    assert_eq!(status(Namespace::Mount, Who::Root), Status::Fail);
    assert_eq!(judge(Namespace::User, Trial::Made, Who::Ordinary).status, Status::Ok);
    let untried = judge(Namespace::Pid, Trial::Untried("fork".to_owned()), Who::Ordinary);
    assert_eq!(untried.status, Status::Fail);
}

#[test]
fn the_remedy_fits_the_error() {
    let remedy = |errno, ns| judge(ns, refused(errno), Who::Ordinary).remedy.unwrap();
    let full = remedy(rustix::io::Errno::NOSPC, Namespace::Mount);
    assert!(full.contains("user.max_mnt_namespaces"), "{full}");
    let old = remedy(rustix::io::Errno::INVAL, Namespace::Cgroup);
    assert!(old.contains("kernel with cgroup namespaces"), "{old}");
}

fn statuses(who: Who, switches: &Switches) -> [Status; 2] {
    judge_switches(who, switches).map(|check| check.status)
}

fn both(value: &str) -> Switches {
    let value = || Some(value.to_owned());
    Switches { clone: value(), max: value() }
}

#[test]
fn switches_that_are_not_there_are_no_obstacle() {
    assert_eq!(statuses(Who::Ordinary, &Switches::default()), [Status::NotApplicable; 2]);
}

#[test]
fn switches_bind_ordinary_users_only() {
    assert_eq!(statuses(Who::Ordinary, &both("0")), [Status::Fail; 2]);
    assert_eq!(statuses(Who::Root, &both("0")), [Status::NotApplicable; 2]);
    for check in judge_switches(Who::Ordinary, &both("0")) {
        assert!(check.remedy.unwrap().contains("sysctl -w"), "{}", check.id);
    }
    assert_eq!(statuses(Who::Ordinary, &both("1")), [Status::Ok; 2]);
}

fn apparmor(who: Who, switch: Option<&str>, label: &str, denied: bool) -> Check {
    let program = std::path::Path::new("/usr/local/bin/cofferdam");
    judge_apparmor(who, Standing::judge(switch, Some(label), program), denied)
}

#[test]
fn a_profile_lifts_the_restriction_and_its_absence_does_not() {
    let of = |switch, label| apparmor(Who::Ordinary, switch, label, false).status;
    assert_eq!(of(Some("1"), "cofferdam (unconfined)"), Status::Ok);
    assert_eq!(of(Some("1"), "unconfined"), Status::Fail);
    assert_eq!(of(Some("0"), "unconfined"), Status::Ok);
    assert_eq!(of(None, "unconfined"), Status::NotApplicable);
    assert_eq!(apparmor(Who::Root, Some("1"), "unconfined", true).status, Status::NotApplicable);
}

#[test]
fn a_profile_counts_only_where_a_namespace_can_be_used() {
    let check = apparmor(Who::Ordinary, Some("1"), "other (enforce)", true);
    assert_eq!(check.status, Status::Fail);
    assert!(check.detail.contains("other (enforce)"), "{}", check.detail);
    assert!(refused(rustix::io::Errno::PERM).is_denied());
    assert!(refused(rustix::io::Errno::ACCESS).is_denied());
    assert!(!refused(rustix::io::Errno::NOSPC).is_denied());
    assert!(!Trial::Made.is_denied());
    // What is denied for another reason is another check's.
    assert_eq!(apparmor(Who::Ordinary, Some("0"), "unconfined", true).status, Status::Ok);
}
