package search

import (
	"slices"
	"strings"
	"testing"

	"gazetteer/index"
	"gazetteer/lint/format"
)

// TestListsFitTheTerminal checks that at any width no line of a list wraps, that names, hosts and
// inboxes are whole, and that no room is left empty.
func TestListsFitTheTerminal(t *testing.T) {
	const inbox = "http://127.0.0.1:9112/inbox/AIR-7F3K-M9JQ-X2PW"
	offers := []row{
		{name: "BOOK /reservation", place: "reservations.acme.test", text: "Books a restaurant table for a party on a date"},
		{name: "  proved  AIR-7F3K-M9JQ-X2PW @booker", text: inbox, part: true},
		{name: "BOOK /予約", place: "yoyaku.example", text: "日時と人数を決めてレストランの席を予約します。キャンセルもできます"},
		{name: "  no agent", part: true},
	}
	for _, width := range []int{0, 40, 60, 80, 100, 200} {
		var out strings.Builder
		printRows(&out, slices.Clone(offers), width)
		for line := range strings.Lines(out.String()) {
			if n := format.Columns(strings.TrimSuffix(line, "\n")); width > 0 && n > width && !strings.HasSuffix(line, "    "+inbox+"\n") {
				t.Errorf("width %d: %d columns: %s", width, n, line)
			}
		}
		for _, whole := range []string{"BOOK /reservation", "reservations.acme.test", "AIR-7F3K-M9JQ-X2PW @booker", inbox, "yoyaku.example"} {
			if !strings.Contains(out.String(), whole) {
				t.Errorf("width %d: no %q in\n%s", width, whole, out.String())
			}
		}
		if width == 80 && !strings.Contains(out.String(), "Books a restaurant table for a") {
			t.Errorf("the text is short at 80 columns:\n%s", out.String())
		}
	}
	for width, want := range map[int]string{
		0: "UPDATE /bookings/{booking_id}/booking-contact  hotels.impala.test  Changes the contact\n" +
			"BOOK /table                                    a.test              Books a table\n",
		90: "UPDATE /bookings/{booking_id}/booking-contact\n" +
			"                                 hotels.impala.test  Changes the contact\n" +
			"BOOK /table                      a.test              Books a table\n",
		60: "UPDATE /bookings/{booking_id}/booking-contact\n" +
			"                       hotels.impala.test\n" +
			"    Changes the contact\n" +
			"BOOK /table            a.test              Books a table\n",
	} {
		var out strings.Builder
		printRows(&out, []row{
			{name: "UPDATE /bookings/{booking_id}/booking-contact", place: "hotels.impala.test", text: "Changes the contact"},
			{name: "BOOK /table", place: "a.test", text: "Books a table"},
		}, width)
		if out.String() != want {
			t.Errorf("width %d: a long name moves the columns:\n%s", width, out.String())
		}
	}
	var out strings.Builder
	printRows(&out, []row{{name: "BOOK", text: "Books a table"}, {name: "CANCEL", text: "Cancels it"}}, 80)
	if want := "BOOK    Books a table\nCANCEL  Cancels it\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// TestRowMarksErrors checks that a list marks an operation whose document breaks its draft.
func TestRowMarksErrors(t *testing.T) {
	var h index.Hit
	h.Operation.Intent = "Books a table"
	for findings, want := range map[string]string{"": "Books a table", "warning": "Books a table", "error": "[weak] [errors] Books a table"} {
		var remarks []remark
		if h.Findings = findings; findings == "error" {
			remarks = []remark{{name: "weak"}}
		}
		if got := hitRow(h, remarks).text; got != want {
			t.Errorf("%q: %q, want %q", findings, got, want)
		}
	}
}
