//! The filter on a real thread: what is forbidden fails as documented, its harmless twin works.
//!
//! Filters belong to threads, so each test confines one of its own. Calls are chosen such that they
//! would fail with another errno if they got past the filter, and change nothing.

use std::fs::{self, File, OpenOptions, Permissions};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Command;

use rustix::io::Errno;

use super::super::rule::{Answer, Verdict};
use super::super::{Table, Writes, load, no_new_privileges, program};
use crate::sys::confine::call;

/// What `attempt` gives in a thread with the filter on.
fn confined<T: Send + 'static>(writes: Writes, attempt: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::spawn(move || {
        no_new_privileges().unwrap();
        load(program(writes)).unwrap();
        attempt()
    });
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[test]
fn without_no_new_privileges_only_an_administrator_loads_a_filter() {
    let loaded = std::thread::spawn(|| load(program(Writes::Staged))).join().unwrap();
    let capabilities = rustix::thread::capabilities(None).unwrap().effective;
    let administrator = capabilities.contains(rustix::thread::CapabilitySet::SYS_ADMIN);
    let refused = loaded.is_err_and(|error| {
        error.call == "seccomp" && error.source.raw_os_error() == Some(libc::EACCES)
    });
    assert_eq!(refused, !administrator);
}

#[test]
fn refused_calls_fail_with_the_errno_of_the_table() {
    confined(Writes::Staged, || {
        let mut tried = 0;
        for group in Table::of(Writes::Staged).groups() {
            let Verdict::Always(Answer::Refuse(errno)) = group.verdict else { continue };
            // It takes no arguments that could make it harmless.
            for known in group.calls.iter().filter(|known| known.name() != "vhangup") {
                let answer = call(known.number().into(), [usize::MAX; 6]);
                assert_eq!(answer, Err(errno), "{}", known.name());
                tried += 1;
            }
        }
        assert!(tried > 50, "{tried}");
    });
}

#[test]
fn namespaces_are_refused_and_processes_and_threads_are_not() {
    confined(Writes::Staged, || {
        // The kernel itself says EINVAL to a new user namespace that shares its root directory.
        let flags = usize::try_from(libc::CLONE_NEWUSER | libc::CLONE_FS).unwrap();
        assert_eq!(call(libc::SYS_clone, [flags, 0, 0, 0, 0, 0]), Err(Errno::PERM));
        assert_eq!(call(libc::SYS_clone, [flags | 1 << 40, 0, 0, 0, 0, 0]), Err(Errno::PERM));
        assert_eq!(call(libc::SYS_unshare, [0; 6]), Err(Errno::PERM));
        assert_eq!(std::thread::spawn(|| 7).join().unwrap(), 7);
        assert!(Command::new("true").status().unwrap().success());
    });
}

#[test]
fn leases_are_refused_and_other_questions_about_files_are_not() {
    confined(Writes::Staged, || {
        let file = std::fs::File::open("/etc/passwd").unwrap();
        let fd = usize::try_from(std::os::fd::AsRawFd::as_raw_fd(&file)).unwrap();
        let fcntl = |command: i32, value: i32| {
            let args = [command, value].map(|word| usize::try_from(word).unwrap());
            call(libc::SYS_fcntl, [fd, args[0], args[1], 0, 0, 0])
        };
        assert_eq!(fcntl(libc::F_SETLEASE, libc::F_RDLCK), Err(Errno::INVAL));
        // Cut by the kernel, and so by us.
        let high = [fd, 1 << 40 | usize::try_from(libc::F_NOTIFY).unwrap(), 1, 0, 0, 0];
        assert_eq!(call(libc::SYS_fcntl, high), Err(Errno::INVAL));
        assert_eq!(fcntl(libc::F_GETLEASE, 0), Ok(libc::F_UNLCK.into()));
        assert!(fcntl(libc::F_GETFL, 0).is_ok() && fcntl(libc::F_SETFD, libc::FD_CLOEXEC).is_ok());
        assert!(file.try_clone().is_ok());
    });
}

#[test]
fn only_harmless_sockets_exist() {
    const SOCK_PACKET: i32 = 10;
    let socket = |family: i32, kind: i32, protocol: i32| {
        let args = [family, kind, protocol].map(|value| usize::try_from(value).unwrap());
        let answer = call(libc::SYS_socket, [args[0], args[1], args[2], 0, 0, 0])?;
        call(libc::SYS_close, [usize::try_from(answer).unwrap(), 0, 0, 0, 0, 0])
    };
    confined(Writes::Staged, move || {
        for family in [libc::AF_UNIX, libc::AF_INET] {
            assert_eq!(socket(family, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0), Ok(0));
            assert_eq!(socket(family, libc::SOCK_DGRAM, 0), Ok(0));
        }
        assert_eq!(socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE), Ok(0));
        let netfilter = socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_NETFILTER);
        assert_eq!(netfilter, Err(Errno::PROTONOSUPPORT));
        for family in [libc::AF_ALG, libc::AF_VSOCK, libc::AF_PACKET, libc::AF_KEY] {
            assert_eq!(socket(family, libc::SOCK_DGRAM, 0), Err(Errno::AFNOSUPPORT), "{family}");
        }
        let icmp = libc::IPPROTO_ICMP;
        assert_eq!(socket(libc::AF_INET, libc::SOCK_RAW, icmp), Err(Errno::PERM));
        assert_eq!(socket(libc::AF_INET6, libc::SOCK_RAW, icmp), Err(Errno::PERM));
        assert_eq!(socket(libc::AF_INET, SOCK_PACKET, 0), Err(Errno::PERM));
        assert_eq!(socket(libc::AF_INET, libc::SOCK_DGRAM, icmp), Err(Errno::PROTONOSUPPORT));
        assert!(std::os::unix::net::UnixStream::pair().is_ok());
        let pair = call(libc::SYS_socketpair, [2, 1, 0, 0, 0, 0]);
        assert_eq!(pair, Err(Errno::AFNOSUPPORT));
    });
}

#[test]
fn nobody_types_into_the_terminal() {
    confined(Writes::Staged, || {
        let no_file = usize::MAX;
        let ioctl = |request: usize| call(libc::SYS_ioctl, [no_file, request, 0, 0, 0, 0]);
        for request in [0x5412, 0x541C, 0x5423, 0x5412 | 1 << 32, 0x5412 | 1 << 63] {
            assert_eq!(ioctl(request), Err(Errno::PERM), "{request:#x}");
        }
        // Past the filter: there is no such file.
        assert_eq!(ioctl(0x5413), Err(Errno::BADF));
        assert_eq!(ioctl(0x5401), Err(Errno::BADF));
    });
}

#[test]
fn own_settings_can_be_changed_but_not_the_own_past() {
    confined(Writes::Staged, || {
        let set = |option: i32, value: usize, last: usize| {
            call(libc::SYS_prctl, [usize::try_from(option).unwrap(), value, 0, 0, last, 0])
        };
        // The kernel says EINVAL to a last argument here.
        assert_eq!(set(libc::PR_SET_MM, 1, 1), Err(Errno::PERM));
        assert_eq!(set(libc::PR_SET_CHILD_SUBREAPER, 0, 0), Ok(0));
        assert_eq!(set(libc::PR_GET_DUMPABLE, 0, 0), Ok(1));
        let personality = |which| call(libc::SYS_personality, [which, 0, 0, 0, 0, 0]);
        let current = personality(0xffff_ffff).unwrap();
        assert_eq!(
            personality(usize::try_from(libc::ADDR_NO_RANDOMIZE).unwrap()),
            Err(Errno::PERM)
        );
        assert_eq!(personality(0xffff_ffff), Ok(current));
    });
}

#[test]
fn pipes_can_be_made_and_devices_cannot() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().to_owned();
    confined(Writes::Staged, move || {
        let make = |name: &str, mode: u32| {
            let path = path(&at.join(name));
            let args = [cwd(), path.as_ptr() as usize, mode as usize, 0x103, 0, 0];
            call(libc::SYS_mknodat, args)
        };
        assert_eq!(make("pipe", libc::S_IFIFO | 0o600), Ok(0));
        assert_eq!(make("file", libc::S_IFREG | 0o755), Ok(0));
        for kind in [libc::S_IFCHR, libc::S_IFBLK] {
            assert_eq!(make("device", kind | 0o600), Err(Errno::PERM));
        }
        assert_eq!(make("suid", libc::S_IFREG | 0o4755), Err(Errno::PERM));
        let rename = |flags: u32| {
            let (from, to) = (path(&at.join("pipe")), path(&at.join("moved")));
            let names = [from.as_ptr() as usize, to.as_ptr() as usize];
            let flags = flags as usize;
            call(libc::SYS_renameat2, [cwd(), names[0], cwd(), names[1], flags, 0])
        };
        assert_eq!(rename(libc::RENAME_WHITEOUT), Err(Errno::INVAL));
        assert_eq!(rename(libc::RENAME_NOREPLACE), Ok(0));
        assert!(!at.join("pipe").exists());
    });
}

#[test]
fn set_id_files_cannot_be_made() {
    let refused = |done: std::io::Result<()>| {
        done.is_err_and(|error| error.raw_os_error() == Some(libc::EPERM))
    };
    for writes in [Writes::Staged, Writes::OnHost] {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().to_owned();
        confined(writes, move || {
            let file = at.join("file");
            File::create(&file).unwrap();
            let by_name = |mode| fs::set_permissions(&file, Permissions::from_mode(mode));
            let open = File::open(&file).unwrap();
            let by_descriptor = |mode| open.set_permissions(Permissions::from_mode(mode));
            let create = |mode| {
                let mut options = OpenOptions::new();
                let name = at.join(format!("{mode:o}"));
                options.write(true).create(true).mode(mode).open(name).map(drop)
            };
            for set in [&by_name as &dyn Fn(u32) -> std::io::Result<()>, &by_descriptor, &create] {
                set(0o755).unwrap();
                set(0o1755).unwrap();
                assert!(refused(set(0o4755)) && refused(set(0o6755)));
                assert_eq!(refused(set(0o2755)), writes == Writes::OnHost, "{writes:?}");
            }
            // Nothing is created, so the mode means nothing.
            let name = path(&file);
            let args = [cwd(), name.as_ptr() as usize, 0, 0o4755, 0, 0];
            assert!(call(libc::SYS_openat, args).is_ok());
            assert_eq!(call(libc::SYS_openat2, args), Err(Errno::NOSYS));
        });
        let set_user_id =
            |entry: fs::DirEntry| entry.metadata().unwrap().permissions().mode() & 0o4000;
        assert!(fs::read_dir(&dir).unwrap().all(|entry| set_user_id(entry.unwrap()) == 0));
    }
}

#[test]
fn a_shell_script_does_not_notice() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().to_owned();
    let output = confined(Writes::OnHost, move || {
        let script = r#"
            set -eu
            mkfifo pipe
            (echo through > pipe) &
            read word < pipe
            wait
            printf '%s\n' c a b | sort | tr -d '\n' > sorted
            mkdir -p sub/deep && mv sorted sub/deep/ && ln -s deep sub/link
            chmod 700 sub/deep/sorted && cp -pR sub copy
            sleep 30 & kill $! && ! wait $!
            echo "$word $(cat copy/link/sorted) $(id -u)"
        "#;
        Command::new("sh").args(["-c", script]).current_dir(at).output().unwrap()
    });
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let uid = rustix::process::getuid();
    let expected = format!("through abc {uid}\n");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}

#[test]
fn the_kernel_reports_the_filter_to_children() {
    let status = confined(Writes::Staged, || {
        Command::new("cat").arg("/proc/self/status").output().unwrap().stdout
    });
    let status = String::from_utf8(status).unwrap();
    assert!(status.contains("Seccomp:\t2") && status.contains("NoNewPrivs:\t1"), "{status}");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_32_bit_call_kills_the_process() {
    use crate::sys::confine::foreign_getpid;
    use crate::sys::try_in_child;

    let filter = program(Writes::Staged);
    let confine = move || {
        let errno = |error: crate::SysError| error.source.raw_os_error().unwrap_or(libc::EINVAL);
        no_new_privileges().map_err(errno)?;
        load(filter).map_err(errno)
    };
    // The harness has threads; these children make system calls and nothing else.
    assert_eq!(try_in_child(confine).unwrap(), 0);
    let killed = try_in_child(move || {
        confine()?;
        foreign_getpid();
        Ok(())
    });
    assert!(killed.is_err_and(|error| error.call == "probe"));
}

/// A 64-bit program on ARM64 has no way to make a 32-bit call: it has to become a 32-bit program, where the processor
/// and the kernel still run any.
#[cfg(target_arch = "aarch64")]
#[test]
fn a_32_bit_program_is_killed_at_its_first_call() {
    use std::os::unix::process::ExitStatusExt as _;
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("program");
    fs::write(&program, program_of_32_bits()).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let run = move || Command::new(&program).status();
    let outside = run();
    match (outside, confined(Writes::Staged, run)) {
        (Ok(outside), Ok(inside)) => {
            assert_eq!((outside.code(), inside.signal()), (Some(7), Some(libc::SIGSYS)));
        }
        (outside, inside) => {
            let answers = [outside, inside].map(|answer| answer.unwrap_err().raw_os_error());
            assert_eq!(answers, [Some(libc::ENOEXEC); 2]);
        }
    }
}

/// Ends with 7, by a call of the convention that ARM had before it had 64 bits.
#[cfg(target_arch = "aarch64")]
fn program_of_32_bits() -> Vec<u8> {
    const AT: u32 = 0x10_0000;
    const HEADERS: u32 = 52 + 32;
    // mov r0, #7; mov r7, #1 (exit); svc 0
    let code = [0xE3A0_0007_u32, 0xE3A0_7001, 0xEF00_0000];
    let size = HEADERS + 4 * 3;
    let mut bytes = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    // An executable, for ARM.
    bytes.extend([2_u16, 40].iter().flat_map(|half| half.to_le_bytes()));
    // Version, start, where the one segment is described, no sections, the fifth form of the convention.
    let words = [1, AT + HEADERS, 52, 0, 0x0500_0000];
    bytes.extend(words.iter().flat_map(|word: &u32| word.to_le_bytes()));
    bytes.extend([52_u16, 32, 1, 40, 0, 0].iter().flat_map(|half| half.to_le_bytes()));
    // The segment: all of the file, to be read and executed.
    let segment = [1, 0, AT, AT, size, size, 5, 0x1_0000];
    bytes.extend(segment.iter().chain(&code).flat_map(|word: &u32| word.to_le_bytes()));
    bytes
}

fn path(path: &Path) -> std::ffi::CString {
    std::ffi::CString::new(path.as_os_str().as_encoded_bytes()).unwrap()
}

/// The descriptor that stands for the current directory.
fn cwd() -> usize {
    libc::AT_FDCWD as isize as usize
}
