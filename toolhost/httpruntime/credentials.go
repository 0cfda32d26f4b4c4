package httpruntime

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/net/http/httpguts"

	"gazetteer/protocol/altar"
)

// A Credential is sent to one host.
type Credential struct {
	Header string `json:"header"` // for example "Authorization"
	Value  string `json:"value"`  // for example "Bearer …"
}

// ReadCredentials reads the operator's file: a JSON object with a credential for each host, as
// [Options.Credentials] wants it. No other user may be able to read the file. An error quotes no
// value.
func ReadCredentials(file string) (map[string]Credential, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s may be read by others; want the mode 0600", file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var list map[string]Credential
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	_, strict := altar.ReadValue(text) // the decoder takes the last of two equal names
	if err := decoder.Decode(&list); err != nil || strict != nil {
		at := offsetOf(text, err, strict, decoder.InputOffset())
		line := 1 + bytes.Count(text[:min(at, int64(len(text)))], []byte("\n"))
		return nil, fmt.Errorf(`%s:%d: it is not {"HOST": {"header": "Authorization", "value": "Bearer …"}}, with each host once`, file, line)
	}
	credentials := map[string]Credential{}
	for name, c := range list {
		host := authorityOf(name)
		_, twice := credentials[host]
		switch at, err := url.Parse("https://" + name); {
		case err != nil || at.Host != name || at.Hostname() == "" || strings.HasSuffix(name, ":"):
			return nil, fmt.Errorf("%s: %.140q is no host; want api.example, or api.example:8443 for another port than 443", file, name)
		case twice:
			return nil, fmt.Errorf("%s: %s is there twice", file, host)
		case c.Header == "" || c.Value == "":
			return nil, fmt.Errorf("%s: %s needs header and value", file, name)
		case !httpguts.ValidHeaderFieldName(c.Header) || !httpguts.ValidHeaderFieldValue(c.Value):
			return nil, fmt.Errorf("%s: header or value of %s cannot stand in a request", file, name)
		}
		credentials[host] = c
	}
	return credentials, nil
}

// unknownField matches the decoder's error for a member of another name, which has no offset.
var unknownField = regexp.MustCompile(`unknown field (".*")$`)

// offsetOf returns where a text contradicts its form: the decoder's error err names its place, and so
// does strict, that of the strict reader; read is how far the decoder came.
func offsetOf(text []byte, err, strict error, read int64) int64 {
	if e, ok := errors.AsType[*jsontext.SyntacticError](strict); ok {
		return e.ByteOffset
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return e.Offset
	}
	if err == nil {
		return read
	}
	if name := unknownField.FindStringSubmatch(err.Error()); name != nil {
		if at := regexp.MustCompile(regexp.QuoteMeta(name[1]) + `\s*:`).FindIndex(text); at != nil {
			return int64(at[0])
		}
	}
	return read
}

// authorityOf returns the form of a host and its port under which credentials are kept: another port
// than that of HTTPS belongs to it, because another service may answer there.
func authorityOf(host string) string { return strings.TrimSuffix(strings.ToLower(host), ":443") }
