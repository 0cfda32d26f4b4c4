// Package privatenet tests the unmodified program in a separate network, as a
// sceptic would test it. It contains tests only, and runs on Linux only.
//
// TestMain runs them in new network and mount namespaces (and a user namespace
// where it is not root), in which every address leads back to this machine, /etc
// names our name server, and nothing else can be reached:
//
//	gazetteer crawl --file … ── name server 127.0.0.1:53 ── records, honest or hostile
//	       │
//	       └── any address:443 ──┬── of a host:      TLS, leaf by name, the hosts of fakenet
//	                             ├── of an odd one:  something that is not a TLS server
//	                             └── any other:      a trap that reports each connection
//
// The program is built as it ships, trusts the root of the small internet by
// SSL_CERT_FILE, and has its address guard on. The judges are the servers' log,
// the name server's, and a socket that sees the first packet of every connection
// that any process opens, to any address and port.
//
// The files: namespace_linux_test.go makes the network, packets_linux_test.go
// watches it, names_linux_test.go and doors_linux_test.go answer in it,
// hosts_linux_test.go lists the hosts and what must happen to each of them, and
// crawl_linux_test.go runs the program and judges.
package privatenet
