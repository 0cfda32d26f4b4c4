package meaning

import "testing"

// TestCompare holds the judgement against descriptions that mean the same and that do not.
func TestCompare(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want Relation
	}{
		{"Search products by keyword", "Search  products by keyword", Same},
		{"Search products by keyword", "search products by keyword.", Rewritten},
		{"Search products by keyword", "Find products matching a keyword", Rewritten},
		{"Get current weather for a city", "Returns the current weather conditions at a place", Rewritten},
		{"Create an order", "Place a new order", Rewritten},
		{"Update user profile", "Edit the profile of a user", Rewritten},
		{"Send an email", "Deliver mail to a recipient", Rewritten},
		{"Lists open issues", "Lists the issues that are not closed", Rewritten},
		{"Search flights by date and airport", "Find available flights for a route", Rewritten},
		{"Upload a file", "Store a document", Rewritten},
		{"Returns a list of restaurants nearby", "Finds places to eat near the user", Rewritten},
		{"Translates a text", "Translate text into another language", Rewritten},
		{"Schedule a meeting", "Puts a meeting into the calendar", Rewritten},
		{"Get the balance of an account", "Shows how much money is on the account", Rewritten},
		{"", "Get the balance of an account", Rewritten},
		{"Cancel an order", "Cancel a purchase", Rewritten},
		{"Track a parcel", "Follow a shipment", Rewritten},
		{"Create a customer", "Register a new client", Rewritten},
		{"Get directions", "Calculate a route between two places", Rewritten},
		{"Adds a product to the cart of a user", "Puts an item into the basket of a user", Rewritten},
		{"Deletes a DBParameterGroup", "Deletes a DB parameter group", Rewritten},
		{"Przyjmuje zlecenie tłumaczenia przysięgłego za 60 PLN od strony", "Przyjmuje zlecenie tłumaczenia przysięgłego za 80 PLN od strony", Rewritten},
		{"Przyjmuje zlecenie tłumaczenia przysięgłego od 60 stron", "Przyjmuje zlecenie tłumaczenia przysięgłego od 80 stron", Replaced},
		{"Buchung stornieren", "Cancel a booking", Rewritten},
		{"Buchung stornieren", "Cancel a booking. Buchung stornieren", Rewritten},
		{"Cancel a booking", "Eine Buchung stornieren.", Rewritten},
		{"Rechnung bezahlen", "Pay an invoice", Rewritten},
		{"Buchung ändern", "Change a booking", Rewritten},

		{"Buchung stornieren", "Book a room", Replaced},
		{"Buchung ändern", "Cancel a booking", Replaced},
		{"Search products by keyword", "Delete all products", Replaced},
		{"Lists invoices of the account", "Lists employees of the company", Replaced},
		{"Books a restaurant reservation", "Cancels a restaurant reservation", Replaced},
		{"Books a table", "Books a flight", Replaced},
		{"Gets an endpoint", "Updates an endpoint", Replaced},
		{"Returns an execution of the given name", "Creates a new execution using the latest revision of the workflow", Replaced},
		{"Get a blueprint assignment", "Create or update a blueprint assignment", Replaced},
		{"Gets a list of server keys", "Creates or updates a server key", Replaced},
		{"Updates the tags of a gateway", "Gets the gateway of a resource group", Replaced},
		{"Creates a new automation in a project and location", "Creates a new release in a project and location", Replaced},
		{"Lists the apps under the specified account", "Lists the ad units under the specified account", Replaced},
		{"Get audience demographics for a podcast", "Get recommendations for a podcast", Replaced},
		{"Create an order", "Refund an order", Replaced},
		{"Transfers funds between accounts", "Closes an account", Replaced},
		{"Update user profile", "Update the shipping address", Replaced},
		{"Pauses a subscription", "Cancels a subscription", Replaced},
		{"Archive a project", "Permanently delete a project", Replaced},
		{"Deletes a user", "Deletes all users and their data", Replaced},
		{"Search flights", "Search hotels", Replaced},
		{"Enable two-factor login", "Disable two-factor login", Replaced},
		{"Subscribe to newsletter", "Unsubscribe from the newsletter", Replaced},
		{"Creates a draft without sending it", "Creates and sends a draft", Replaced},
		{"Admits a patient to a care facility", "Discharges a patient from a care facility", Replaced},
		{"Get the status of a payment", "Refund a payment", Replaced},
		{"예약을 조회합니다", "예약을 삭제합니다", Replaced},
	} {
		if got := Compare(c.a, c.b); got != c.want {
			t.Errorf("%q, %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := Compare(c.b, c.a); got != c.want {
			t.Errorf("%q, %q (reversed): %d, want %d", c.b, c.a, got, c.want)
		}
	}
}
