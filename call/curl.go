package call

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/net/idna"

	"gazetteer/protocol/agis/agishttp"
)

// Curl returns a command line that calls the operation, with {name} where a value
// has to be put in, and whether there can be one: what the document does not tell
// cannot be made up. An operation over AGTP is called by the HTTP binding of AGIS,
// if its address allows that.
//
// Whatever the document says, the line is one line of printable characters, and
// every text of the document stands between single quotes without one inside, so
// that a shell reads it as text.
func (h How) Curl() (line string, ok bool) {
	parts, ok := h.curlParts()
	return strings.Join(parts, " "), ok
}

// CurlBlock returns the command of [How.Curl] for people, who read it in a narrow column: a shell reads
// the same words, but the address and each option begin a line.
func (h How) CurlBlock() (text string, ok bool) {
	parts, ok := h.curlParts()
	return strings.Join(parts, " \\\n  "), ok
}

// curlParts returns the parts of a command line between which a line may end.
func (h How) curlParts() (parts []string, ok bool) {
	r, ok := h.sampleRequest()
	if !ok {
		return nil, false
	}
	first := "curl --globoff" // or braces would stand for several addresses
	if r.method == http.MethodGet {
		parts = []string{first + " " + quoteShell(r.address)}
	} else {
		parts = []string{first + " --request " + r.method, quoteShell(r.address)}
	}
	for _, h := range r.headers {
		parts = append(parts, "--header "+quoteShell(h[0]+": "+h[1]))
	}
	for _, f := range r.fields {
		if f.file {
			parts = append(parts, "--form "+quoteShell(f.name+"=@"+f.value))
		} else {
			parts = append(parts, "--form-string "+quoteShell(f.name+"="+f.value)) // "@" and ";" stay as they are
		}
	}
	if r.body != "" {
		parts = append(parts, "--data-raw "+quoteShell(r.body))
	}
	return parts, true
}

// A sampleRequest is an HTTP request with {name} for each value to fill in. Its texts are printable
// characters without single quotes.
type sampleRequest struct {
	method, address string
	headers         [][2]string
	body            string      // JSON or a form, "" for none
	fields          []formField // of a body of type multipart/form-data, which is then the whole body
}

// A formField is a field of a form. A name, and the value of a file, has no character that ends it in a line
// for curl or in the header of a part.
type formField struct {
	name, value string
	file        bool // the value is a placeholder for the path of a file
}

// sampleRequest makes a request of what the document tells; false when it does not tell enough.
func (h How) sampleRequest() (sampleRequest, bool) {
	target, method := h.URL, h.Method
	var r sampleRequest
	if h.HTTPBinding != "" { // AGIS 10.1: the header has the verb, POST governs the transport alone
		target, method = h.HTTPBinding, http.MethodPost
		r.headers = [][2]string{{agishttp.MethodHeader, h.Method}, {agishttp.GrammarHeader, agishttp.Grammar}}
	}
	address, ok := safeURL(target)
	if !ok || h.Protocol != "http" && h.HTTPBinding == "" || !plainMethod.MatchString(h.Method) {
		return sampleRequest{}, false
	}
	r.method, r.address = method, address
	if name, value := h.authHeader(); name != "" {
		r.headers = append(r.headers, [2]string{name, value})
	}
	var asked []string
	var form []string
	body := map[string]any{}
	var fields []formField
	for _, p := range wantedParameters(h.Parameters) {
		switch p.In {
		case "query":
			asked = append(asked, percentEncode(p.Name, "")+"="+sampleText(p))
		case "header":
			if headerName.MatchString(p.Name) {
				r.headers = append(r.headers, [2]string{p.Name, "{" + p.Name + "}"})
			}
		case "body":
			body[p.Name] = sampleValue(p)
			form = append(form, percentEncode(p.Name, "")+"="+sampleText(p))
			fields = append(fields, sampleField(p))
		}
	}
	if len(asked) > 0 {
		separator := "?"
		if strings.Contains(r.address, "?") {
			separator = "&"
		}
		r.address += separator + strings.Join(asked, "&")
	}
	if h.MediaType == MultipartType {
		r.fields = fields
	} else if h.MediaType != "" {
		r.headers, r.body = append(r.headers, [2]string{"Content-Type", h.MediaType}), plainJSON(body)
		if h.MediaType == FormType {
			r.body = strings.Join(form, "&")
		}
	}
	return r, true
}

var (
	plainMethod = regexp.MustCompile(`^[A-Z]{1,16}$`)
	headerName  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,63}$`)
	authority   = regexp.MustCompile(`^([A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?$`)
)

// maxSample is how many parameters a line shows.
const maxSample = 30

// wantedParameters returns the parameters that must be given. If none must, it returns those of the
// body, because a request without any data rarely means something.
func wantedParameters(all []PlacedParameter) []PlacedParameter {
	var required, inBody []PlacedParameter
	for _, p := range all {
		switch {
		case p.Required:
			required = append(required, p)
		case p.In == "body":
			inBody = append(inBody, p)
		}
	}
	if len(required) == 0 {
		required = inBody
	}
	return required[:min(len(required), maxSample)]
}

// authHeader returns the header that authenticates a caller, with {name} in place of the credentials;
// "" if the service needs none, or its document does not tell the header.
func (h How) authHeader() (name, value string) {
	switch strings.ToLower(h.Auth) {
	case "", "none":
		return "", ""
	case "bearer", "oauth2":
		return "Authorization", "Bearer {token}"
	case "apikey":
		if h.AuthHeader == "" { // the document lacks it (AI507)
			return "{header}", "{api_key}"
		}
		return h.AuthHeader, "{api_key}"
	default:
		return h.AuthHeader, "{credentials}"
	}
}

// sampleText is the value of a parameter of the query: a sample, or {name}.
func sampleText(p PlacedParameter) string {
	if value, ok := decodeSample(p).(string); ok {
		return percentEncode(value, "")
	}
	if p.Sample != "" {
		return percentEncode(p.Sample, "")
	}
	return "{" + percentEncode(p.Name, "") + "}"
}

// sampleField is a parameter as a field of a form with parts.
func sampleField(p PlacedParameter) formField {
	name := percentEncode(p.Name, " $&()*+/:?@[]^|~")
	f := formField{name: name, value: "{" + name + "}", file: p.File}
	if p.Sample == "" || p.File {
		return f
	}
	if f.value = p.Sample; decodeSample(p) != nil {
		if text, ok := decodeSample(p).(string); ok {
			f.value = text
		}
	}
	f.value = strings.Map(func(r rune) rune {
		if r == '\'' || r == '!' || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, f.value)
	return f
}

// decodeSample returns the sample of a parameter, nil if it has none.
func decodeSample(p PlacedParameter) (value any) {
	if json.Unmarshal([]byte(p.Sample), &value) != nil {
		return nil
	}
	return value
}

// sampleValue is a value of a parameter's type to begin with: a sample, or {name} for a text.
func sampleValue(p PlacedParameter) any {
	if value := decodeSample(p); value != nil {
		return value
	}
	switch strings.ToLower(p.Type) {
	case "integer", "number":
		return 1
	case "boolean":
		return false
	case "array":
		return []any{}
	case "object":
		return map[string]any{}
	default:
		return "{" + p.Name + "}"
	}
}

// safeURL writes an address with the characters of RFC 3986 alone, and braces around the names of
// parameters. It returns false if the text is not an address on the web or contains a password.
func safeURL(text string) (string, bool) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found || scheme != "https" && scheme != "http" {
		return "", false
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	host, tail := rest[:end], rest[end:]
	if strings.ContainsFunc(host, func(r rune) bool { return r > unicode.MaxASCII }) {
		ascii, err := idna.Lookup.ToASCII(host)
		if err != nil {
			return "", false
		}
		host = ascii
	}
	if !authority.MatchString(host) {
		return "", false
	}
	if _, err := url.Parse(scheme + "://" + host); err != nil {
		return "", false
	}
	return scheme + "://" + host + percentEncode(tail, "/?#[]@:$&()*+,;={}%"), true
}

// percentEncode writes all but the unreserved characters of RFC 3986, and those of
// also, as %XX.
func percentEncode(s, also string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case c|0x20 >= 'a' && c|0x20 <= 'z', c >= '0' && c <= '9', strings.IndexByte("-._~", c) >= 0, strings.IndexByte(also, c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteString("%" + string(hex[c>>4]) + string(hex[c&15]))
		}
	}
	return b.String()
}

// plainJSON writes a value so that it can stand in single quotes: what a shell or
// a terminal could take for a command is escaped.
func plainJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic("a sample cannot be encoded: " + err.Error()) // it holds strings, numbers, lists and objects
	}
	const hex = "0123456789abcdef"
	var b strings.Builder
	for _, r := range string(text) {
		if r != '\'' && r != '!' && (r < unicode.MaxASCII || unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r)) {
			b.WriteRune(r)
			continue
		}
		units := []rune{r}
		if r > 0xFFFF { // JSON escapes UTF-16
			r -= 0x10000
			units = []rune{0xD800 + r>>10, 0xDC00 + r&0x3FF}
		}
		for _, u := range units {
			b.WriteString(`\u`)
			for shift := 12; shift >= 0; shift -= 4 {
				b.WriteByte(hex[u>>shift&15])
			}
		}
	}
	return b.String()
}

// quoteShell puts a text that has no single quote between two of them.
func quoteShell(s string) string { return "'" + s + "'" }
