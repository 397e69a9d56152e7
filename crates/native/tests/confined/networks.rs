//! Networks that serve more than one sandbox: only those in which nothing has happened.

use std::rc::Rc;

use cofferdam_native::stock::Stock;

use crate::sandbox::Sandbox;

/// How often a sandbox found no way in this network, which each does once itself, and what went over its loopback.
const LOOK: &str = "\
    awk '$1 == \"Ip:\" && n++ { print $13 }' /proc/net/snmp; \
    awk '$1 == \"lo:\" { print $2 + $10 }' /proc/net/dev; \
    awk '$1 == \"sockets:\" { print $3 }' /proc/net/sockstat";

fn look(stock: &Rc<Stock>) -> Vec<u64> {
    let said = run(stock, LOOK);
    said.lines().map(|line| line.parse().unwrap_or_else(|_| panic!("{said}"))).collect()
}

fn run(stock: &Rc<Stock>, script: &str) -> String {
    let mut sandbox = Sandbox::with_command(&["/bin/bash", "-c", script]);
    sandbox.stock = Some(stock.clone());
    sandbox.run().stdout
}

pub(crate) fn a_network_in_which_nothing_happened_serves_again() {
    let stock = Rc::new(Stock::default());
    assert_eq!(look(&stock), [1, 0, 0]);
    assert_eq!(look(&stock), [2, 0, 0], "the same, as good as new");
    run(&stock, "mkdir a; echo words > b; ls /usr > /dev/null");
    assert_eq!(look(&stock), [4, 0, 0], "files are nothing that happens in a network");
}

pub(crate) fn a_network_in_which_something_happened_serves_nobody_else() {
    /// Excludes others from it, and stays for a minute: see ipv6(7).
    const LABEL: &str = "perl -MSocket -e '\
        socket(my $s, 10, SOCK_DGRAM, 0) or die; \
        my $request = pack(q(a16 N C C S S S L), qq(\\0) x 15 . qq(\\1), 0x12345, 0, 1, 1, 60, 60, 0); \
        setsockopt($s, 41, 32, $request) or die'";
    for (what, script) in [
        ("a packet", "echo words > /dev/udp/127.0.0.1/9"),
        ("a connection that is refused", "exec 3<>/dev/tcp/127.0.0.1/9"),
        ("a way that is not there", "echo words > /dev/udp/192.0.2.1/9"),
        ("the same of the other kind", "echo words > /dev/udp/2001:db8::1/9"),
        ("a label of a flow", LABEL),
    ] {
        let stock = Rc::new(Stock::default());
        let done = run(&stock, &format!("{script}; true; cat /proc/net/ip6_flowlabel"));
        assert_eq!(done.contains("12345"), script == LABEL, "{what}: {done}");
        assert_eq!(look(&stock), [1, 0, 0], "after {what}");
        // That one was quiet, and is kept.
        assert_eq!(look(&stock), [2, 0, 0], "after {what}");
    }
}
