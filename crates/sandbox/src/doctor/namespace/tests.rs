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

fn statuses(who: Who, switches: &Switches) -> [Status; 3] {
    judge_switches(who, switches).map(|check| check.status)
}

fn all(value: &str) -> Switches {
    let value = || Some(value.to_owned());
    Switches { clone: value(), max: value(), apparmor: value(), label: None }
}

#[test]
fn switches_that_are_not_there_are_no_obstacle() {
    assert_eq!(statuses(Who::Ordinary, &Switches::default()), [Status::NotApplicable; 3]);
}

#[test]
fn switches_bind_ordinary_users_only() {
    let off = Switches { apparmor: Some("1".to_owned()), ..all("0") };
    assert_eq!(statuses(Who::Ordinary, &off), [Status::Fail; 3]);
    assert_eq!(statuses(Who::Root, &off), [Status::NotApplicable; 3]);
    for check in judge_switches(Who::Ordinary, &off) {
        assert!(check.remedy.unwrap().contains("sysctl -w"), "{}", check.id);
    }
    let on = Switches { apparmor: Some("0".to_owned()), ..all("1") };
    assert_eq!(statuses(Who::Ordinary, &on), [Status::Ok; 3]);
}

#[test]
fn a_profile_lifts_the_restriction_and_its_absence_does_not() {
    let with = |label: &str| {
        let switches = Switches { label: Some(label.to_owned()), ..all("1") };
        judge_apparmor(&switches).status
    };
    assert_eq!(with("cofferdam (unconfined)"), Status::Ok);
    assert_eq!(with("unconfined"), Status::Fail);
    assert_eq!(judge_apparmor(&all("1")).status, Status::Fail);
}
