package agis

import (
	"regexp"
	"strings"

	"gazetteer/protocol"
)

// checkDisclosure looks for what the description of a data class should keep for
// those who are authorized: how many records there are, and the names of columns
// and fields (§13). It matters when the manifest can be read without
// credentials.
func (c *checker) checkDisclosure(n *protocol.Node) {
	description := n.Member("description")
	if found := findDisclosure(description.Str()); found != "" {
		c.Add("AGIS138", description, "the description of the data class "+protocol.Quote(n.Member("class").Str())+" tells "+found+" to everyone, because pre_auth_discovery is true",
			"describe the kind of data only; counts, columns and field names require authorization")
	}
}

var (
	// counted matches a number of things that data consists of, or of those it is
	// about: "4.2 million records", "about 300 patients". A number of days or
	// decimals says nothing about the data that is held.
	counted = regexp.MustCompile(`(?i)(?:\b\d[\d.,' ]*\d|\b\d)\+?\s*(?:k|m|bn|thousand|million|billion)?\+?\s+(?:\pL[\pL-]*\s+){0,2}` +
		`(?:records|rows|entries|documents|customers|clients|users|accounts|patients|members|persons|people|transactions|orders|bookings|reservations|items|files|tables|columns|fields)\b`)
	// announced matches the announcement of names: "columns: id, name".
	announced = regexp.MustCompile(`(?i)\b(?:columns?|fields?|attributes?|table|primary key|foreign key)\s*(?:names?\s*)?(?::|\(|such as\b|like\b|including\b|named\b|called\b)`)
	// programName matches names as programs write them: customer_id, dateOfBirth,
	// users.email.
	programName = regexp.MustCompile(`\b(?:[A-Za-z][A-Za-z0-9]*_[A-Za-z0-9_]+|[a-z]{2,}[A-Z][A-Za-z0-9]*|[a-z]+\.[a-z]+_[a-z_]+)\b`)
)

// findDisclosure names what a description gives away, and "" for nothing.
func findDisclosure(description string) string {
	if strings.ContainsAny(description, "0123456789") {
		if s := counted.FindString(description); s != "" {
			return "a count (" + protocol.Quote(strings.TrimSpace(s)) + ")"
		}
	}
	if s := programName.FindString(description); s != "" {
		return "the field name " + protocol.Quote(s)
	}
	if s := announced.FindString(description); s != "" {
		return "the names of fields (" + protocol.Quote(s) + ")"
	}
	return ""
}
