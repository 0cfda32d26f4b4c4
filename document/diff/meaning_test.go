package diff

import "testing"

// TestJudgeMeaning holds the judgement against descriptions that mean the same and that do not.
func TestJudgeMeaning(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want meaning
	}{
		{"Search products by keyword", "Search  products by keyword", same},
		{"Search products by keyword", "search products by keyword.", rewritten},
		{"Search products by keyword", "Find products matching a keyword", rewritten},
		{"Get current weather for a city", "Returns the current weather conditions at a place", rewritten},
		{"Create an order", "Place a new order", rewritten},
		{"Update user profile", "Edit the profile of a user", rewritten},
		{"Send an email", "Deliver mail to a recipient", rewritten},
		{"Lists open issues", "Lists the issues that are not closed", rewritten},
		{"Search flights by date and airport", "Find available flights for a route", rewritten},
		{"Upload a file", "Store a document", rewritten},
		{"Returns a list of restaurants nearby", "Finds places to eat near the user", rewritten},
		{"Translates a text", "Translate text into another language", rewritten},
		{"Schedule a meeting", "Puts a meeting into the calendar", rewritten},
		{"Get the balance of an account", "Shows how much money is on the account", rewritten},
		{"", "Get the balance of an account", rewritten},
		{"Cancel an order", "Cancel a purchase", rewritten},
		{"Track a parcel", "Follow a shipment", rewritten},
		{"Create a customer", "Register a new client", rewritten},
		{"Get directions", "Calculate a route between two places", rewritten},
		{"Adds a product to the cart of a user", "Puts an item into the basket of a user", rewritten},
		{"Deletes a DBParameterGroup", "Deletes a DB parameter group", rewritten},

		{"Search products by keyword", "Delete all products", replaced},
		{"Lists invoices of the account", "Lists employees of the company", replaced},
		{"Books a restaurant reservation", "Cancels a restaurant reservation", replaced},
		{"Books a table", "Books a flight", replaced},
		{"Gets an endpoint", "Updates an endpoint", replaced},
		{"Returns an execution of the given name", "Creates a new execution using the latest revision of the workflow", replaced},
		{"Get a blueprint assignment", "Create or update a blueprint assignment", replaced},
		{"Gets a list of server keys", "Creates or updates a server key", replaced},
		{"Updates the tags of a gateway", "Gets the gateway of a resource group", replaced},
		{"Creates a new automation in a project and location", "Creates a new release in a project and location", replaced},
		{"Lists the apps under the specified account", "Lists the ad units under the specified account", replaced},
		{"Get audience demographics for a podcast", "Get recommendations for a podcast", replaced},
		{"Create an order", "Refund an order", replaced},
		{"Transfers funds between accounts", "Closes an account", replaced},
		{"Update user profile", "Update the shipping address", replaced},
		{"Pauses a subscription", "Cancels a subscription", replaced},
		{"Archive a project", "Permanently delete a project", replaced},
		{"Deletes a user", "Deletes all users and their data", replaced},
		{"Search flights", "Search hotels", replaced},
		{"Enable two-factor login", "Disable two-factor login", replaced},
		{"Subscribe to newsletter", "Unsubscribe from the newsletter", replaced},
		{"Creates a draft without sending it", "Creates and sends a draft", replaced},
		{"Admits a patient to a care facility", "Discharges a patient from a care facility", replaced},
		{"Get the status of a payment", "Refund a payment", replaced},
		{"예약을 조회합니다", "예약을 삭제합니다", replaced},
	} {
		if got := judgeMeaning(c.a, c.b); got != c.want {
			t.Errorf("%q, %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := judgeMeaning(c.b, c.a); got != c.want {
			t.Errorf("%q, %q (reversed): %d, want %d", c.b, c.a, got, c.want)
		}
	}
}
