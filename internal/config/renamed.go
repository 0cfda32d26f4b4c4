package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gazetteer/internal/nearest"
)

// renamedKeys returns the keys that had another name before, each with the name that it has now, so
// that an old configuration is refused with one sentence that says what to do.
func renamedKeys() [][2]string {
	return [][2]string{
		{"crawler.addresses", "crawler.own_addresses"},
		{"crawler.host_at_once", "crawler.host_concurrency"},
		{"crawler.domain_at_once", "crawler.domain_concurrency"},
		{"crawler.address_at_once", "crawler.address_concurrency"},
		{"crawler.networks", "crawler.network_limits"},
		{"crawler.deny", "crawler.denied_addresses"},
		{"crawler.nat64", "crawler.nat64_prefixes"},
		{"crawler.block_list", "crawler.block_list_file"},
		{"crawler.verify_whole_chains", "crawler.verify_full_chains"},
		{"search.vectors", "search.vector_file"},
		{"search.at_once", "search.concurrency"},
		{"registry.door", "registry.admission"},
		{"registry.dns", "registry.name_server"},
		{"registry.log_copy", "registry.checkpoint_copy"},
		{"registry.registries", "registry.remote_registries"},
		{"api.changes_per_agent_hour", "api.changes_per_agent_per_hour"},
		{"api.fetches_per_host_hour", "api.fetches_per_host_per_hour"},
		{"api.submissions_per_domain_hour", "api.submissions_per_domain_per_hour"},
	}
}

// newNameOf returns the present name of a key, and false for a key that never had another one.
func newNameOf(key string) (string, bool) {
	for _, pair := range renamedKeys() {
		if pair[0] == key {
			return pair[1], true
		}
	}
	return "", false
}

// describeUnknownKey says that there is no such key, with the new name of a renamed one, or with
// names that differ by a slip of the pen.
func describeUnknownKey(key string) error {
	if key == "server" {
		return errors.New("no key names a server for commands: use --server URL")
	}
	if name, renamed := newNameOf(key); renamed {
		return fmt.Errorf("the key %q is called %q now", key, name)
	}
	known := listKeys(reflect.TypeFor[Config](), "")
	for _, names := range [][]string{known, listTables(known)} {
		if question := nearest.Question(key, names); question != "" {
			return fmt.Errorf("unknown key %q: %s", key, question)
		}
	}
	if elsewhere := keysNamed(known, key); len(elsewhere) > 0 {
		return fmt.Errorf("unknown key %q: did you mean %s?", key, strings.Join(elsewhere, " or "))
	}
	return fmt.Errorf("unknown key %q; config.toml lists every key", key)
}

// listTables returns the names of the tables of keys.
func listTables(keys []string) []string {
	var tables []string
	for _, key := range keys {
		if table, _, ok := strings.Cut(key, "."); ok && !slices.Contains(tables, table) {
			tables = append(tables, table)
		}
	}
	return tables
}

// keysNamed returns the keys of any table that have the last name of a key.
func keysNamed(keys []string, key string) []string {
	name := "." + key[strings.LastIndexByte(key, '.')+1:]
	return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return !strings.HasSuffix("."+k, name) })
}

// listKeys returns the name of every key below a table.
func listKeys(table reflect.Type, prefix string) []string {
	var keys []string
	for f := range table.Fields() {
		name := prefix + f.Tag.Get("toml")
		if f.Type.Kind() == reflect.Struct {
			keys = append(keys, listKeys(f.Type, name+".")...)
		} else {
			keys = append(keys, name)
		}
	}
	return keys
}
