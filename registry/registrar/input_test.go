package registrar_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"gazetteer/api/airjson"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/registrar"
)

func TestReadRegistration(t *testing.T) {
	got, err := airjson.ReadRegistration([]byte(`{"name":"N\u00e9","public_key":"K","creator_did":"did:x:y","creator_name":"C","creator_type":"organization",
		"description":null,"capabilities":["a","b"],"security_certifications":[],"open_source":true,"code_repository":"https://c.test/",
		"documentation_url":"https://d.test/","service_endpoints":[{"type":"A2AInbox","serviceEndpoint":"https://i.test/","extra":[{}]}],
		"username":5,"unknown":{"deep":[1,2.5,null]}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := registry.Registration{Name: "Né", PublicKey: "K", CreatorDID: "did:x:y", CreatorName: "C", CreatorType: "organization",
		Editable: registry.Editable{Capabilities: []string{"a", "b"}, SecurityCertifications: []string{}, OpenSource: true, CodeRepository: "https://c.test/", DocumentationURL: "https://d.test/", ServiceEndpoints: []registry.ServiceEndpoint{{Type: "A2AInbox", ServiceEndpoint: "https://i.test/"}}}, Ignored: []string{"username", "unknown"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestReadUpdate(t *testing.T) {
	got, err := airjson.ReadUpdate([]byte(`{"description":"","open_source":false,"service_endpoints":[],"username":null,"name":"ignored"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := registry.Update{Description: "", Editable: registry.Editable{OpenSource: false, ServiceEndpoints: []registry.ServiceEndpoint{}}, Changed: []string{"description", "open_source", "service_endpoints"}, Username: new("")}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got, err := airjson.ReadUpdate([]byte(`{"name":"N"}`)); err != nil || !reflect.DeepEqual(got, registry.Update{}) {
		t.Errorf("members that cannot change: %+v, %v", got, err)
	}
}

func TestRefusedBodies(t *testing.T) {
	for name, test := range map[string]struct{ body, code, help string }{
		"empty":                {``, "invalid", "line 1"},
		"cut off":              {`{`, "invalid", "line 1"},
		"two values":           {`{} {}`, "invalid", "column"},
		"not an object":        {`[]`, "type", "an array"},
		"a text":               {`"x"`, "type", "a string"},
		"null":                 {`null`, "type", "null"},
		"a member twice":       {`{"name":"a",` + "\n" + `"name":"b"}`, "duplicate", "line 2"},
		"twice when unescaped": {`{"name":"a","n\u0061me":"b"}`, "duplicate", ""},
		"twice deep inside":    {`{"name":"a","x":{"y":1,"y":2}}`, "duplicate", ""},
		"not UTF-8":            {"{\"name\":\"\xff\"}", "not-utf8", "column 10"},
		"a lone surrogate":     {`{"name":"\ud800"}`, "invalid", ""},
		"byte order mark":      {"\ufeff{}", "bom", ""},
		"too deep":             {strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000), "too-deep", ""},
		"too many members":     {`{"capabilities":[` + strings.Repeat("1,", 2000) + `1]}`, "too-many", ""},
		"over 64 KiB":          {`{"x":"` + strings.Repeat("a", 64<<10) + `"}`, "too-large", "65536"},
		"a comment":            {`{/* */}`, "invalid", ""},
		"HTML":                 {`<html>`, "invalid", ""},
	} {
		for kind, read := range readers {
			e := refused(t, read([]byte(test.body)))
			if e.Message != "Invalid JSON body" || e.Code != test.code || !strings.Contains(e.Help, test.help) {
				t.Errorf("%s, %s: code %q, %q, %q", name, kind, e.Code, e.Message, e.Help)
			}
		}
	}
}

var readers = map[string]func([]byte) error{
	"registration": func(body []byte) error { _, err := airjson.ReadRegistration(body); return err },
	"update":       func(body []byte) error { _, err := airjson.ReadUpdate(body); return err },
}

func TestWrongTypesAreNamed(t *testing.T) {
	for name, test := range map[string]struct{ body, field, message string }{
		"number for text":        {`{"description":5}`, "description", "Field 'description' must be a string"},
		"object for text":        {`{"code_repository":{}}`, "code_repository", "Field 'code_repository' must be a string"},
		"text for a list":        {`{"capabilities":"abc"}`, "capabilities", "Field 'capabilities' must be an array of strings"},
		"number in a list":       {`{"security_certifications":["a",1]}`, "security_certifications[1]", "Field 'security_certifications' must be an array of strings"},
		"text for a truth":       {`{"open_source":"yes"}`, "open_source", "Field 'open_source' must be true or false"},
		"number for a truth":     {`{"open_source":1}`, "open_source", "Field 'open_source' must be true or false"},
		"endpoints an object":    {`{"service_endpoints":{}}`, "service_endpoints", "Invalid service_endpoints: service_endpoints must be an array"},
		"endpoint a text":        {`{"service_endpoints":["x"]}`, "service_endpoints[0]", "Invalid service_endpoints: service_endpoints[0] must be an object"},
		"type a number":          {`{"service_endpoints":[{"type":1}]}`, "service_endpoints[0].type", "Invalid service_endpoints: service_endpoints[0].type must be a non-empty string"},
		"address an object":      {`{"service_endpoints":[{},{"serviceEndpoint":{}}]}`, "service_endpoints[1].serviceEndpoint", "Invalid service_endpoints: service_endpoints[1].serviceEndpoint must be a non-empty string"},
		"an empty id":            {`{"service_endpoints":[{"id":""}]}`, "service_endpoints[0].id", "Invalid service_endpoints: service_endpoints[0].id must be a non-empty string"},
		"the first of several":   {`{"open_source":1,"description":5,"capabilities":0}`, "open_source", "Field 'open_source' must be true or false"},
		"the first, upside down": {`{"capabilities":0,"description":5,"open_source":1}`, "capabilities", "Field 'capabilities' must be an array of strings"},
	} {
		for kind, read := range readers {
			e := refused(t, read([]byte(test.body)))
			if e.Code != "type" || e.Field != test.field || e.Message != test.message || !strings.Contains(e.Help, "line 1, column ") {
				t.Errorf("%s, %s: %+v", name, kind, e)
			}
		}
	}
	_, err := airjson.ReadUpdate([]byte(`{"description":null}`))
	if e := refused(t, err); e.Field != "description" || !strings.Contains(e.Help, `send "", false or [] to clear it`) {
		t.Errorf("null in an update: %+v", e)
	}
}

func TestRefusedRegistrations(t *testing.T) {
	r := open(t, registrar.Options{DIDHost: "registry.example"})
	good := keyText(1)
	key := func(hex ...byte) string {
		return base64.RawURLEncoding.EncodeToString(append(hex, make([]byte, 32-len(hex))...))
	}
	many := func(n int) []string { return strings.Split(strings.Repeat("x,", n-1)+"x", ",") }
	for name, test := range map[string]struct {
		reg         registry.Registration
		field, code string
	}{
		"no name":                 {registry.Registration{PublicKey: good}, "name", "required"},
		"a name of spaces":        {registry.Registration{Name: " \u00a0\t", PublicKey: good}, "name", "required"},
		"101 characters":          {registry.Registration{Name: strings.Repeat("é", 101), PublicKey: good}, "name", "length"},
		"a name of 10 kB":         {registry.Registration{Name: strings.Repeat("x", 10<<10), PublicKey: good}, "name", "length"},
		"a line end in a name":    {registry.Registration{Name: "a\nb", PublicKey: good}, "name", "text"},
		"an escape in a name":     {registry.Registration{Name: "a\x1b[31mb", PublicKey: good}, "name", "text"},
		"NUL in a name":           {registry.Registration{Name: "a\x00b", PublicKey: good}, "name", "text"},
		"a turned name":           {registry.Registration{Name: "a\u202eb", PublicKey: good}, "name", "text"},
		"an isolate in a name":    {registry.Registration{Name: "a\u2066b", PublicKey: good}, "name", "text"},
		"a hidden character":      {registry.Registration{Name: "a\u200bb", PublicKey: good}, "name", "text"},
		"hidden bytes":            {registry.Registration{Name: "a\U000e0115\U000e0148", PublicKey: good}, "name", "text"},
		"hidden bits":             {registry.Registration{Name: "a\u200c\u200d\u200cb", PublicKey: good}, "name", "text"},
		"a filler":                {registry.Registration{Name: "\u3164\u3164", PublicKey: good}, "name", "text"},
		"a tag character":         {registry.Registration{Name: "a\U000e0041b", PublicKey: good}, "name", "text"},
		"not UTF-8":               {registry.Registration{Name: "a\xffb", PublicKey: good}, "name", "text"},
		"no anchor":               {registry.Registration{Name: "N"}, "public_key", "required"},
		"neutral point":           {registry.Registration{Name: "N", PublicKey: key(1)}, "public_key", did.CodeKeySmallOrder},
		"point of order 4":        {registry.Registration{Name: "N", PublicKey: key()}, "public_key", did.CodeKeySmallOrder},
		"no point":                {registry.Registration{Name: "N", PublicKey: key(2)}, "public_key", did.CodeKeyCurve},
		"31 bytes":                {registry.Registration{Name: "N", PublicKey: good[:42]}, "public_key", did.CodeKeyLength},
		"creator is no DID":       {registry.Registration{Name: "N", PublicKey: good, CreatorDID: "me"}, "creator_did", "did"},
		"creator is a script":     {registry.Registration{Name: "N", PublicKey: good, CreatorDID: "javascript:alert(1)"}, "creator_did", "did"},
		"creator is a DID URL":    {registry.Registration{Name: "N", PublicKey: good, CreatorDID: "did:wba:a.test#key-1"}, "creator_did", "did-web"},
		"creator is local":        {registry.Registration{Name: "N", PublicKey: good, CreatorDID: "did:web:localhost"}, "creator_did", "did-web"},
		"creator without a dot":   {registry.Registration{Name: "N", PublicKey: good, CreatorDID: "did:wba:intranet"}, "creator_did", "did-web"},
		"creator on an address":   {registry.Registration{Name: "N", PublicKey: good, CreatorDID: "did:wba:127.1"}, "creator_did", "did-web"},
		"creator is one of us":    {registry.Registration{Name: "N", PublicKey: good, CreatorDID: "did:wba:Registry.Example:agents:AIR-0000-0000-0000"}, "creator_did", "reserved"},
		"creator at our port 443": {registry.Registration{Name: "N", PublicKey: good, CreatorDID: "did:wba:registry.example%3A443:agents:AIR-0000-0000-0000"}, "creator_did", "reserved"},
		"creator of 10 kB":        {registry.Registration{Name: "N", PublicKey: good, CreatorDID: "did:x:" + strings.Repeat("y", 10<<10)}, "creator_did", "did"},
		"creator's key is weak":   {registry.Registration{Name: "N", CreatorDID: "did:key:" + did.FormatMultikey(append([]byte{1}, make([]byte, 31)...))}, "creator_did", did.CodeKeySmallOrder},
		"creator without key":     {registry.Registration{Name: "N", CreatorDID: "did:wba:example.com"}, "public_key", "required"},
		"creator type":            {registry.Registration{Name: "N", PublicKey: good, CreatorType: "robot"}, "creator_type", "value"},
		"creator name":            {registry.Registration{Name: "N", PublicKey: good, CreatorName: strings.Repeat("x", 201)}, "creator_name", "length"},
		"description":             {registry.Registration{Name: "N", PublicKey: good, Description: strings.Repeat("x", 2001)}, "description", "length"},
		"description's bell":      {registry.Registration{Name: "N", PublicKey: good, Description: "a\ab"}, "description", "text"},
		"21 capabilities":         {registry.Registration{Name: "N", PublicKey: good, Editable: registry.Editable{Capabilities: many(21)}}, "capabilities", "count"},
		"11 certifications":       {registry.Registration{Name: "N", PublicKey: good, Editable: registry.Editable{SecurityCertifications: many(11)}}, "security_certifications", "count"},
		"an empty capability":     {registry.Registration{Name: "N", PublicKey: good, Editable: registry.Editable{Capabilities: []string{"a", " "}}}, "capabilities[1]", "required"},
		"a long capability":       {registry.Registration{Name: "N", PublicKey: good, Editable: registry.Editable{Capabilities: []string{strings.Repeat("x", 201)}}}, "capabilities[0]", "length"},
		"a script to click":       {registry.Registration{Name: "N", PublicKey: good, Editable: registry.Editable{DocumentationURL: "javascript:alert(1)"}}, "documentation_url", "url"},
		"a relative link":         {registry.Registration{Name: "N", PublicKey: good, Editable: registry.Editable{CodeRepository: "/x"}}, "code_repository", "url"},
		"a link with password":    {registry.Registration{Name: "N", PublicKey: good, Editable: registry.Editable{CodeRepository: "https://a:b@c.test/"}}, "code_repository", "url"},
		"a link to a network":     {registry.Registration{Name: "N", PublicKey: good, Editable: registry.Editable{CodeRepository: "http://10.0.0.1/x"}}, "code_repository", "private-address"},
		"a link to metadata":      {registry.Registration{Name: "N", PublicKey: good, Editable: registry.Editable{DocumentationURL: "http://169.254.169.254/"}}, "documentation_url", "private-address"},
		"a link to one machine":   {registry.Registration{Name: "N", PublicKey: good, Editable: registry.Editable{DocumentationURL: "https://localhost/x"}}, "documentation_url", "private-address"},
		"a link as a number":      {registry.Registration{Name: "N", PublicKey: good, Editable: registry.Editable{DocumentationURL: "http://2130706433/"}}, "documentation_url", "private-address"},
		"a long link":             {registry.Registration{Name: "N", PublicKey: good, Editable: registry.Editable{CodeRepository: "https://c.test/" + strings.Repeat("x", 500)}}, "code_repository", "length"},
		"an id nobody can know":   {registry.Registration{Name: "N", PublicKey: good, Editable: registry.Editable{ServiceEndpoints: []registry.ServiceEndpoint{{ID: "did:wba:registry.example:agents:AIR-0000-0000-0000#x", Type: "T", ServiceEndpoint: "https://a.test/"}}}}, "service_endpoints[0].id", "foreign-id"},
	} {
		_, _, err := r.Register(t.Context(), test.reg)
		if e := refused(t, err); e.Field != test.field || e.Code != test.code {
			t.Errorf("%s: field %q code %q: %v", name, e.Field, e.Code, e)
		} else if len(e.Error()) > 600 {
			t.Errorf("%s: a message of %d bytes", name, len(e.Error()))
		}
	}
	if agents, _, err := r.List(t.Context(), registry.Filter{}, "", 10); err != nil || len(agents) != 0 {
		t.Errorf("%d agents were registered, %v", len(agents), err)
	}
	// Values exactly at the limits are accepted, and so are texts of any script.
	register(t, r, registry.Registration{Name: strings.Repeat("é", 100), PublicKey: good, CreatorName: "عبد", Description: strings.Repeat("好", 2000),
		Editable: registry.Editable{Capabilities: many(20), SecurityCertifications: many(10), CodeRepository: "http://c.test/" + strings.Repeat("x", 486)}})
	register(t, r, registry.Registration{Name: "family 👩‍👩‍👧", PublicKey: good})
}

func TestRefusedServiceEndpoints(t *testing.T) {
	r := open(t, registrar.Options{})
	agent, secret := register(t, r, someone(1))
	self := r.DID(agent.AirID)
	one := func(id, kind, address string) []registry.ServiceEndpoint {
		return []registry.ServiceEndpoint{{ID: id, Type: kind, ServiceEndpoint: address}}
	}
	at := func(address string) []registry.ServiceEndpoint { return one("", "A2AInbox", address) }
	tests := map[string]struct {
		endpoints   []registry.ServiceEndpoint
		field, code string
	}{
		"21 entries":              {make([]registry.ServiceEndpoint, 21), "", "count"},
		"no type":                 {one("", " ", "https://a.test/"), "[0].type", "required"},
		"a long type":             {one("", strings.Repeat("x", 101), "https://a.test/"), "[0].type", "length"},
		"a type with a space":     {one("", "My Inbox", "https://a.test/"), "[0].type", "text"},
		"a type of markup":        {one("", "<b>", "https://a.test/"), "[0].type", "text"},
		"the registry's type":     {one("", "AIRTrustScore", "https://a.test/"), "[0].type", "reserved"},
		"another AIR type":        {one("", "AIRLINE", "https://a.test/"), "[0].type", "reserved"},
		"an unknown A2A type":     {one("", "A2AOutbox", "https://a.test/"), "[0].type", "reserved"},
		"an inbox in lower case":  {one("", "a2ainbox", "https://a.test/"), "[0].type", "reserved"},
		"an unknown DIDComm":      {one("", "DIDCommInbox", "https://a.test/"), "[0].type", "reserved"},
		"no address":              {at(" "), "[0].serviceEndpoint", "required"},
		"a long address":          {at("https://a.test/" + strings.Repeat("x", 500)), "[0].serviceEndpoint", "length"},
		"a foreign id":            {one("did:wba:victim.example#key-1", "T", "https://a.test/"), "[0].id", "foreign-id"},
		"a relative id":           {one("#inbox", "T", "https://a.test/"), "[0].id", "foreign-id"},
		"a DID that begins alike": {one(self+"0#inbox", "T", "https://a.test/"), "[0].id", "foreign-id"},
		"no fragment":             {one(self+"#", "T", "https://a.test/"), "[0].id", "text"},
		"two fragments":           {one(self+"#a#b", "T", "https://a.test/"), "[0].id", "text"},
		"a space in an id":        {one(self+"#a b", "T", "https://a.test/"), "[0].id", "text"},
		"a broken escape":         {one(self+"#%zz", "T", "https://a.test/"), "[0].id", "text"},
		"a long id":               {one(self+"#"+strings.Repeat("x", 200), "T", "https://a.test/"), "[0].id", "length"},
		"the id of the key":       {one(self+"#key-1", "T", "https://a.test/"), "[0].id", "reserved"},
		"that id escaped":         {one(self+"#%6bey-1", "T", "https://a.test/"), "[0].id", "reserved"},
		"the id of the score":     {one(self+"#Trust-Score", "T", "https://a.test/"), "[0].id", "reserved"},
		"an id twice":             {[]registry.ServiceEndpoint{{ID: self + "#x", Type: "T", ServiceEndpoint: "https://a.test/"}, {ID: self + "#x", Type: "U", ServiceEndpoint: "https://a.test/"}}, "[1].id", "duplicate"},
		"an id twice, escaped":    {[]registry.ServiceEndpoint{{ID: self + "#x", Type: "T", ServiceEndpoint: "https://a.test/"}, {ID: self + "#%78", Type: "U", ServiceEndpoint: "https://a.test/"}}, "[1].id", "duplicate"},
	}
	for code, addresses := range map[string][]string{
		"url": {"/inbox/x", "inbox", "//a.test/x", "https://", "https:///x", "https:a.test", "https://a.test/a b", "https://a.test/\x7f", "https://bücher.example/",
			"https://user@a.test/", "https://a:b@a.test/", "https://a.test:0/", "https://a.test:65536/", "https://a.test:/", "https://a.test:x/",
			"https://[::1/", "https://a.test\\@b.test/", "https://%6c%6f/", "https://a.test/<script>"},
		"scheme": {"http://a.test/", "javascript:alert(1)", "data:text/html,x", "ftp://a.test/", "mailto:a@a.test", "file:///etc/passwd", "wss://a.test/",
			"http://localhost/", "http://127.0.0.1/", "did:wba:a.test"},
		"private-address": {"https://localhost/", "https://LOCALHOST:8443/", "https://a.localhost/", "https://relay/", "https://nas.local/", "https://db.internal/",
			"https://127.0.0.1/", "https://127.1/", "https://0x7f.1/", "https://2130706433/", "https://0177.0.0.1/", "https://10.0.0.1/", "https://172.16.0.1/",
			"https://192.168.1.1/", "https://169.254.169.254/latest", "https://100.64.0.1/", "https://0.0.0.0/", "https://224.0.0.1/", "https://255.255.255.255/",
			"https://192.0.2.1/", "https://198.18.0.1/", "https://[::1]/", "https://[::]/", "https://[fe80::1]/", "https://[fe80::1%25eth0]/", "https://[fc00::1]/",
			"https://[::ffff:127.0.0.1]/", "https://[::ffff:10.0.0.1]/", "https://[::ffff:8.8.8.8]/", "https://[64:ff9b::7f00:1]/", "https://[2001:db8::1]/", "https://[ff02::1]/",
			"https://a_b.test/", "https://a..test/", "https://a.test./", "https://-a.test/"},
	} {
		for _, address := range addresses {
			tests[address] = struct {
				endpoints   []registry.ServiceEndpoint
				field, code string
			}{at(address), "[0].serviceEndpoint", code}
		}
	}
	for name, test := range tests {
		_, _, err := r.Update(t.Context(), agent.AirID, registry.Credentials{Secret: secret}, registry.Update{Editable: registry.Editable{ServiceEndpoints: test.endpoints}, Changed: []string{"service_endpoints"}})
		var e *registry.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v, want a refusal", name, err)
			continue
		}
		if e.Field != "service_endpoints"+test.field || e.Code != test.code || e.Help == "" || !strings.HasPrefix(e.Message, "Invalid service_endpoints: service_endpoints") {
			t.Errorf("%s: %+v, want field %s code %s", name, e, test.field, test.code)
		}
	}
	if got, _, err := r.Agent(t.Context(), agent.AirID); err != nil || len(got.ServiceEndpoints) != 0 {
		t.Errorf("kept %v, %v", got.ServiceEndpoints, err)
	}
}

func TestAcceptedServiceEndpoints(t *testing.T) {
	r := open(t, registrar.Options{})
	agent, secret := register(t, r, someone(1))
	self := r.DID(agent.AirID)
	given := []registry.ServiceEndpoint{
		{Type: " A2AInbox ", ServiceEndpoint: " https://relay.test/inbox/" + self + " "},
		{Type: "A2AInbox", ServiceEndpoint: "https://8.8.8.8:8443/x?y=1"},
		{ID: self + "#A2AInbox-2", Type: "A2AInbox", ServiceEndpoint: "https://[2606:4700:4700::1111]/"},
		{Type: "DIDCommMessaging", ServiceEndpoint: "https://xn--bcher-kva.example/"},
		{ID: self + "#a%20b", Type: "https://acme.test/spec#100%25", ServiceEndpoint: "HTTPS://Relay.Test/"},
		{Type: "https://acme.test/spec#100%25", ServiceEndpoint: "https://a.test/"},
	}
	want := []string{"#A2AInbox", "#A2AInbox-3", "#A2AInbox-2", "#DIDCommMessaging", "#a%20b", "#https://acme.test/spec%23100%2525"}
	got, _, err := r.Update(t.Context(), agent.AirID, registry.Credentials{Secret: secret}, registry.Update{Editable: registry.Editable{ServiceEndpoints: given}, Changed: []string{"service_endpoints"}})
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range got.ServiceEndpoints {
		if e.ID != self+want[i] {
			t.Errorf("endpoint %d has the id %s, want %s", i, e.ID, self+want[i])
		}
	}
	if e := got.ServiceEndpoints[0]; e.Type != "A2AInbox" || e.ServiceEndpoint != "https://relay.test/inbox/"+self {
		t.Errorf("kept %+v", e)
	}
	// What was published can be sent back as it is.
	again, _, err := r.Update(t.Context(), agent.AirID, registry.Credentials{Secret: secret}, registry.Update{Editable: registry.Editable{ServiceEndpoints: got.ServiceEndpoints}, Changed: []string{"service_endpoints"}})
	if err != nil || !reflect.DeepEqual(again.ServiceEndpoints, got.ServiceEndpoints) {
		t.Errorf("sent back: %+v, %v", again.ServiceEndpoints, err)
	}
}

func TestLoopbackOnlyWhenAllowed(t *testing.T) {
	r := open(t, registrar.Options{AllowLoopback: true})
	agent, secret := register(t, r, someone(1))
	try := func(address string) error {
		_, _, err := r.Update(t.Context(), agent.AirID, registry.Credentials{Secret: secret}, registry.Update{Editable: registry.Editable{ServiceEndpoints: []registry.ServiceEndpoint{{Type: "A2AInbox", ServiceEndpoint: address}}}, Changed: []string{"service_endpoints"}})
		return err
	}
	for _, address := range []string{"http://127.0.0.1:8080/x", "http://localhost:80/", "https://[::1]:1/", "http://a.localhost/", "https://a.test/"} {
		if err := try(address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"http://a.test/", "http://10.0.0.1/", "https://192.168.0.1/", "ftp://localhost/", "http://u@localhost/", "http://localhost.evil.test/"} {
		if err := try(address); err == nil {
			t.Errorf("%s was taken", address)
		}
	}
}

// TestEndpointOfTheOwnAirID checks that a registration, which cannot know its AIR ID, can name an
// address that contains it; and that the same is refused as any other address is.
func TestEndpointOfTheOwnAirID(t *testing.T) {
	r := open(t, registrar.Options{})
	reg := someone(1)
	reg.ServiceEndpoints = []registry.ServiceEndpoint{
		{Type: "A2AInbox", ServiceEndpoint: "https://relay.test/inbox/{air_id}"},
		{Type: "AgentCard", ServiceEndpoint: "https://relay.test/{air_id}/card?of={air_id}"},
	}
	agent, secret := register(t, r, reg)
	stored, _, err := r.Agent(t.Context(), agent.AirID)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"https://relay.test/inbox/" + agent.AirID, "https://relay.test/" + agent.AirID + "/card?of=" + agent.AirID} {
		if got := stored.ServiceEndpoints[i].ServiceEndpoint; got != want {
			t.Errorf("endpoint %d is %s, want %s", i, got, want)
		}
	}
	update := func(address string) error {
		_, _, err := r.Update(t.Context(), agent.AirID, registry.Credentials{Secret: secret}, registry.Update{Editable: registry.Editable{ServiceEndpoints: []registry.ServiceEndpoint{{Type: "A2AInbox", ServiceEndpoint: address}}}, Changed: []string{"service_endpoints"}})
		return err
	}
	if err := update("https://other.test/{air_id}"); err != nil {
		t.Error(err)
	}
	for _, address := range []string{"https://relay.test/{AIR_ID}", "https://relay.test/{name}", "http://127.0.0.1/inbox/{air_id}", "https://10.0.0.1/{air_id}", "{air_id}"} {
		if err := update(address); err == nil {
			t.Errorf("%s was taken", address)
		}
	}
}

// TestRefusedLoopbackNamesTheKey checks that the refusal of an inbox on this machine names the key of
// the configuration that allows it, and that of another address does not.
func TestRefusedLoopbackNamesTheKey(t *testing.T) {
	r := open(t, registrar.Options{})
	for address, want := range map[string]bool{"http://127.0.0.1:8080/x": true, "http://localhost/x": true, "http://a.test/": false, "ftp://localhost/": false} {
		reg := someone(1)
		reg.ServiceEndpoints = []registry.ServiceEndpoint{{Type: "A2AInbox", ServiceEndpoint: address}}
		_, _, err := r.Register(t.Context(), reg)
		e, ok := errors.AsType[*registry.Error](err)
		if !ok || strings.Contains(e.Help, "registry.allow_loopback") != want {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestForeignErrorsHaveNoView(t *testing.T) {
	if v, ok := airjson.NewErrorView(errors.New("disk full"), "AIR-0000-0000-0000"); ok {
		t.Errorf("%+v", v)
	}
}

func FuzzReadRegistration(f *testing.F) {
	f.Add([]byte(`{"name":"N","public_key":"8MKxjvAaDg8vU3tQ9Iz4L1_162IWedTlW-MQ3veohpc","service_endpoints":[{"id":"x","type":"T","serviceEndpoint":"https://a.test/"}]}`))
	f.Add([]byte(`{"description":5}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		reg, err := airjson.ReadRegistration(body)
		if err != nil {
			refused(t, err)
			return
		}
		if reg.Name != "" && !bytes.Contains(body, []byte("name")) && !bytes.Contains(body, []byte(`\u`)) {
			t.Errorf("a name out of nowhere: %q", reg.Name)
		}
	})
}

func FuzzReadUpdate(f *testing.F) {
	f.Add([]byte(`{"username":null,"service_endpoints":[],"open_source":true}`))
	f.Add([]byte(`{"capabilities":["a",5]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := airjson.ReadUpdate(body); err != nil {
			refused(t, err)
		}
	})
}

func ExampleReadRegistration() {
	_, err := airjson.ReadRegistration([]byte(`{"name": "Weather", "description": 5}`))
	fmt.Println(err)
	// Output: Field 'description' must be a string: line 1, column 36 holds a number
}
