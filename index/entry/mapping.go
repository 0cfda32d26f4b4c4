package entry

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/mapping"

	"gazetteer/document"
	"gazetteer/index/tokens"
	"gazetteer/protocol/effect"
)

// StaticMapping is the mapping that is stored in the index: it derives nothing from a document by
// itself. Entries are built field by field in entry.go, so nothing depends on reflection or on
// bleve's defaults (which cost five times the bytes and more than twice the time).
func StaticMapping() *mapping.IndexMappingImpl {
	m := bleve.NewIndexMapping()
	m.DefaultMapping = bleve.NewDocumentDisabledMapping()
	m.IndexDynamic = false
	m.StoreDynamic = false
	m.DocValuesDynamic = false
	return m
}

// formVersion is increased by hand if the form of the index changes in a way that CurrentVersion
// does not detect.
const formVersion = 4

// CurrentVersion names the form of the entries that this program writes. It is computed from the
// entries of a sample that uses every rule of the analysis, and from the table of verbs, so an index
// built by other rules is detected without a manual version number.
func CurrentVersion() (string, error) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "form %d, verbs %s\n", formVersion, effect.Fingerprint())
	d := VersionSample()
	write := func(of Kind, e Entry) {
		fmt.Fprintf(h, "%q %q\n", ID(Source{d.Host, d.Kind}, "prints", of, 1), e.keywords)
		for _, text := range e.Text {
			for _, t := range a.Analyze([]byte(text)) {
				fmt.Fprintf(h, "%s ", t.Term)
			}
			fmt.Fprintln(h)
		}
	}
	write(KindService, ServiceEntry(&d))
	for i := range d.DataClasses {
		write(KindClass, ClassEntry(&d.DataClasses[i]))
	}
	for i := range d.Operations {
		write(KindOperation, OperationEntry(&d.Operations[i]))
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// VersionSample is a document that uses every rule of entry.go and of the analyzer.
func VersionSample() document.Document {
	return document.Document{
		Kind: document.AGIS,
		Host: "sample.example",
		Service: document.Service{
			Name: "GitHub Traveller's APIs", Description: "The ﬁnest bookings, ＡＢＣ and ｶﾞ",
			Domain: "travel", Namespace: "Acme.Travel", Categories: []string{"booking"},
		},
		DataClasses: []document.DataClass{{Name: "Exchange_Rates"}},
		Operations: []document.Operation{
			{
				ID: "BOOK /reservation/{tableId}", Verb: "Book", Path: "/reservation/{tableId}",
				Intent: "Reserves a table in HTTPServer restaurants. 회의를 API를 예약해 줘 会議を予約する 预订会议 จองโต๊ะ", Outcome: "A user_id is returned",
				Parameters: []document.Parameter{{Name: "party_size", Description: "How many guests"}},
			},
			{ID: "drive.files.listAll", Verb: "LIST"},
			{ID: "weather_now", Verb: "RETRIEVE"},
			// The rules of ClassOf.
			{ID: "seats", Verb: "LIST", Intent: "Seat maps. This data is made available for all flights"},
			{ID: "clear", Verb: "CLEAR", Intent: "Clears a calendar. This operation deletes all events"},
			{ID: "detect", Verb: "CREATE", Intent: "Text feed. Identifies the language of a text"},
			{ID: "switch", Verb: "SWITCH", Intent: "Switches the lights of a room on or off"},
			{ID: "termin", Verb: "CALL", Intent: "Sagt einen vereinbarten Termin für morgen ab"},
			{ID: "titel", Verb: "CREATE", Intent: "Termine löschen"},
			{ID: "message", Verb: "CREATE", Intent: "Sends a message"},
			{ID: "sms", Verb: "RETRIEVE", Intent: "Sends a message with a GET"},
			{ID: "eta", Verb: "SET", Intent: "Sets how long drivers take"},
			{ID: "random", Verb: "LIST", Intent: "Returns an image. Excluding the tag will return any"},
		},
	}
}
