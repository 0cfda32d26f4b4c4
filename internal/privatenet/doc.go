// Package privatenet tries the unmodified program in a network of its own, as
// somebody would who does not believe what the program says of itself. All of it
// is tests, and runs on Linux alone.
//
// TestMain runs them in new network and mount namespaces (and a user namespace
// where it is not root), in which every address there is leads back to this
// machine, /etc names our name server, and nothing else can be reached:
//
//	gazetteer crawl --file … ── name server 127.0.0.1:53 ── records, honest or hostile
//	       │
//	       └── any address:443 ──┬── of a host:      TLS, leaf by name, the hosts of fakenet
//	                             ├── of an odd one:  something that is no TLS server
//	                             └── any other:      a trap, which is told of
//
// The program is built as it ships, trusts the root of the small internet by
// SSL_CERT_FILE, and has its address guard on. The judges are the servers' log,
// the name server's, and a socket that sees the first packet of every connection
// that anybody begins, to whatever address and port.
//
// The files: namespace_linux_test.go makes the network, packets_linux_test.go
// watches it, names_linux_test.go and doors_linux_test.go answer in it,
// hosts_linux_test.go says who is there and what must come of them, and
// crawl_linux_test.go runs the program and judges.
package privatenet
