//! D: to anybody else. Whether a way there exists is asked of the kernel's routes, which sends nothing;
//! what is sent goes to listeners of our own on the loopback.

use super::{Attack, EVERYWHERE, Group, Step, Way, harmful, inside, steps};

const G: Group = Group::Network;

const fn call(id: &'static str, name: &'static str, tried: &'static str) -> Attack {
    let holds = "no such socket can be made";
    Attack { id, group: G, tried, holds, way: Way::Call(name), on: EVERYWHERE, known: None }
}

const fn reach(id: &'static str, tried: &'static str, script: &'static str) -> Attack {
    inside(id, G, tried, "the listener outside is never reached", script)
}

const fn route(id: &'static str, tried: &'static str, script: &'static str) -> Attack {
    inside(id, G, tried, "there is no route to it", script)
}

pub(super) const ATTACKS: &[Attack] = &[
    reach("D-tcp", "a port on the host's loopback", "{try} tcp 127.0.0.1:{tcp} && won"),
    reach(
        "D-tcp-mapped",
        "the same as an IPv6 address",
        "{try} tcp [::ffff:127.0.0.1]:{tcp} && won",
    ),
    reach("D-tcp-any", "the same by the address of anybody", "{try} tcp 0.0.0.0:{tcp} && won"),
    reach(
        "D-shell-tcp",
        "the same by a shell's own means",
        "bash -c ': > /dev/tcp/127.0.0.1/{tcp}' && won",
    ),
    reach(
        "D-udp",
        "a datagram to the host's loopback",
        "{try} udp 127.0.0.1:{udp}; : it won where that arrives",
    ),
    reach("D-unix", "a socket of the host by its path", "{try} unix {unix} && won"),
    reach("D-unix-link", "the same through a link", "ln -s {unix} s; {try} unix s && won"),
    reach("D-datagram", "a datagram to such a socket", "{try} unix-datagram {datagram} && won"),
    reach("D-abstract", "a socket without a path", "{try} abstract {abstract} && won"),
    route("D-route-4", "any address", "{try} route 192.0.2.1:80 && won"),
    route("D-route-6", "any IPv6 address", "{try} route [2001:db8::1]:80 && won"),
    route("D-metadata", "the addresses of cloud metadata", "{try} route 169.254.169.254:80 && won"),
    route("D-metadata-6", "the same by IPv6", "{try} route [fd00:ec2::254]:80 && won"),
    route("D-metadata-other", "that of another cloud", "{try} route 100.100.100.200:80 && won"),
    route("D-private-10", "networks of the host's site", "{try} route 10.0.0.1:22 && won"),
    route("D-private-172", "an engine's bridge", "{try} route 172.17.0.1:2375 && won"),
    route("D-private-192", "a router at home", "{try} route 192.168.0.1:80 && won"),
    route("D-multicast", "everybody nearby", "{try} route 224.0.0.251:5353 && won"),
    route(
        "D-name-server",
        "the host's name servers",
        "for s in $(sed -n 's/^nameserver //p' /etc/resolv.conf | grep -v '^127[.]' | grep -v :); do \
         {try} route $s:53 && won; done",
    ),
    inside(
        "D-interfaces",
        G,
        "interfaces of the host",
        "there is a loopback and nothing else",
        "tail -n +3 /proc/net/dev | grep -v '^ *lo:' | grep -q : && won",
    ),
    inside(
        "D-connections",
        G,
        "see who listens on the host",
        "its sockets are not listed",
        "grep -qi \":$(printf %04X {tcp}) \" /proc/net/tcp && won",
    ),
    harmful(
        "D-own-resolver",
        G,
        "a resolver of an engine on the loopback",
        "nobody answers there",
        [
            "for a in 127.0.0.11:53 127.0.0.53:53 127.0.0.1:53; do {try} tcp $a && won; done",
            "{try} tcp-self && won",
        ],
    ),
    harmful(
        "D-own-server",
        G,
        "this program's own servers on the loopback",
        "the loopback is the sandbox's own",
        ["for p in 7411 7412; do {try} tcp 127.0.0.1:$p && won; done", "{try} tcp-self && won"],
    ),
    steps(
        "D-project-opens",
        G,
        "a project file that asks for a network",
        "what nobody trusted opens nothing",
        &[
            Step::File("cofferdam.yaml", "sandbox: { network: host }\n"),
            Step::Run(&[], "tail -n +3 /proc/net/dev | grep -v '^ *lo:' | grep -q :", &[1, 125]),
            Step::Twin(&[Step::Host("rm cofferdam.yaml"), Step::Run(&[], "true", &[0])]),
        ],
    ),
    call("D-packet", "af-packet", "frames of the network"),
    call("D-raw-icmp", "raw-icmp", "raw ICMP"),
    call("D-raw-icmp6", "raw-icmp6", "raw ICMP for IPv6"),
    call("D-vsock", "af-vsock", "the machine that this one runs in"),
    call("D-xdp", "af-xdp", "past the network stack"),
    call("D-can", "af-can", "a vehicle's bus"),
    call("D-bluetooth", "af-bluetooth", "Bluetooth"),
    call("D-sctp", "sctp", "another transport, loaded on demand"),
];
