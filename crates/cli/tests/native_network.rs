//! No network but a loopback of its own: listeners on the host are never reached, by any family.

use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

use cofferdam_testkit::claim;

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

const PROBE: &str = r#"
import socket, sys
tcp, udp, path, name = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
def attempt(what, act):
    try:
        act()
        print("reached", what)
    except OSError:
        print("no", what)
attempt("tcp", lambda: socket.create_connection(("127.0.0.1", tcp), 1))
attempt("outside", lambda: socket.create_connection(("192.0.2.1", 80), 1))
attempt("six", lambda: socket.create_connection(("2001:db8::1", 80), 1))
attempt("name", lambda: socket.getaddrinfo("example.com", 80))
attempt("path", lambda: socket.socket(socket.AF_UNIX).connect(path))
attempt("abstract", lambda: socket.socket(socket.AF_UNIX).connect("\0" + name))
# A datagram needs no answer: that it did not arrive is seen outside.
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", udp))
# The allowed twin: its own loopback works.
server = socket.create_server(("127.0.0.1", 0))
socket.create_connection(server.getsockname(), 1)
print("own loopback works")
print(*[line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]])
"#;

#[test]
fn listeners_on_the_host_are_not_reached() {
    claim::as_root_and_as_user(BINARY, |env| {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let path = env.top().join("outside.sock");
        let unix = UnixListener::bind(&path).unwrap();
        let name = format!("cofferdam-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let abstract_socket = UnixListener::bind_addr(&address).unwrap();
        tcp.set_nonblocking(true).unwrap();
        udp.set_nonblocking(true).unwrap();
        unix.set_nonblocking(true).unwrap();
        abstract_socket.set_nonblocking(true).unwrap();
        env.file("probe.py", PROBE);
        let script = format!(
            "python3 probe.py {} {} {} {name}",
            tcp.local_addr().unwrap().port(),
            udp.local_addr().unwrap().port(),
            path.display(),
        );
        let done = claim::run(env, &[], &script);
        done.assert_exit(0);
        assert_eq!(
            done.stdout_text().split_whitespace().collect::<Vec<_>>().join(" "),
            "no tcp no outside no six no name no path no abstract own loopback works lo"
        );
        assert_eq!(tcp.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(udp.recv(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(unix.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(abstract_socket.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    });
}
