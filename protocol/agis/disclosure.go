package agis

import (
	"regexp"
	"strings"

	"gazetteer/protocol"
)

// checkDisclosure reports details in the description of a data class that only authorized callers
// should see: the number of records, and the names of columns and fields (§13). It matters if the
// manifest can be read without credentials.
func (c *checker) checkDisclosure(n *protocol.Node) {
	description := n.Member("description")
	if found := findDisclosure(description.Str()); found != "" {
		c.Add("AGIS138", description, "the description of the data class "+protocol.Quote(n.Member("class").Str())+" tells "+found+" to everyone, because pre_auth_discovery is true",
			"describe the kind of data only; counts, columns and field names require authorization")
	}
}

var (
	// counted matches a number of records or of the people and things they are about: "4.2 million
	// records", "about 300 patients". A number of days or decimals reveals nothing about the data.
	counted = regexp.MustCompile(`(?i)(?:\b\d[\d.,' ]*\d|\b\d)\+?\s*(?:k|m|bn|thousand|million|billion)?\+?\s+(?:\pL[\pL-]*\s+){0,2}` +
		`(?:records|rows|entries|documents|customers|clients|users|accounts|patients|members|persons|people|transactions|orders|bookings|reservations|items|files|tables|columns|fields)\b`)
	// announced matches words that introduce a list of names: "columns: id, name".
	announced = regexp.MustCompile(`(?i)\b(?:columns?|fields?|attributes?|table|primary key|foreign key)\s*(?:names?\s*)?(?::|\(|such as\b|like\b|including\b|named\b|called\b)`)
	// programName matches identifiers of programs: customer_id, dateOfBirth, users.email.
	programName = regexp.MustCompile(`\b(?:[A-Za-z][A-Za-z0-9]*_[A-Za-z0-9_]+|[a-z]{2,}[A-Z][A-Za-z0-9]*|[a-z]+\.[a-z]+_[a-z_]+)\b`)
)

// findDisclosure returns the detail that a description reveals, and "" for none.
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
