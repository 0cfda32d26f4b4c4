package server

import (
	"fmt"
	"net/url"
	"strings"

	"gazetteer/internal/config"
	"gazetteer/internal/privatefile"
	"gazetteer/protocol/did"
	"gazetteer/registry"
)

// Warnings describes what works in a configuration and is probably not meant: the public address and
// the host in the DIDs of agents do not fit each other, or others cannot use them; or other users of the
// machine can read files of the data directory.
func Warnings(c config.Config) []string {
	var warnings []string
	for _, describe := range []func(config.Config) string{describeLocalDIDs, describePlainURL, describeOtherHost, describeReadableFiles} {
		if text := describe(c); text != "" {
			warnings = append(warnings, text)
		}
	}
	return warnings
}

// describeLocalDIDs warns of a public server whose agents would get DIDs of this machine alone, which
// cannot be changed later; "" for any other server.
func describeLocalDIDs(c config.Config) string {
	public, err := url.Parse(c.PublicURL)
	if err != nil || public.Hostname() == "" || did.IsLoopback(public.Hostname()) || !did.IsLoopback(c.Registry.DIDHost) {
		return ""
	}
	return fmt.Sprintf("agents get DIDs below %s, which nobody else can resolve: before the first agent registers, set registry.did_host to %q, "+
		"move log.key and the directory log of the data directory away, and start again", c.Registry.DIDHost, public.Hostname())
}

// describePlainURL warns of a public server whose address is not https, which the drafts require for
// inboxes and DID documents; "" for any other server.
func describePlainURL(c config.Config) string {
	public, err := url.Parse(c.PublicURL)
	if err != nil || public.Scheme != "http" || public.Hostname() == "" || did.IsLoopback(public.Hostname()) {
		return ""
	}
	return fmt.Sprintf("public_url is %s: others resolve DIDs and send mail over https only; put a proxy with a certificate before this server, and set public_url to its https address", c.PublicURL)
}

// describeOtherHost warns of a public server with another name than the host in the DIDs of its agents;
// "" for any other server.
func describeOtherHost(c config.Config) string {
	public, err := url.Parse(c.PublicURL)
	own, invalid := registry.ParseHost(c.Registry.DIDHost)
	if err != nil || invalid != nil || public.Hostname() == "" || did.IsLoopback(public.Hostname()) || did.IsLoopback(own.Host) || strings.EqualFold(public.Hostname(), own.Host) {
		return ""
	}
	return fmt.Sprintf("public_url has the host %s, and registry.did_host is %s: others resolve the DIDs of agents at https://%s, which must lead to this server, too", public.Hostname(), c.Registry.DIDHost, own.Authority())
}

// describeReadableFiles warns of files in the data directory that other users can read, as a copy with the
// usual mask has them; "" if there are none.
func describeReadableFiles(c config.Config) string {
	example, count := privatefile.FindReadable(c.DataDir)
	if count == 0 {
		return ""
	}
	return fmt.Sprintf("other users of this machine can read %d files of the data directory, such as %s, in which mail and addresses of clients may be: run chmod -R go-rwx %s", count, example, c.DataDir)
}
