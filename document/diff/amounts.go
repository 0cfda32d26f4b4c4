package diff

import (
	"cmp"
	"math/big"
	"regexp"
	"strings"

	"gazetteer/protocol"
)

// isPriceName reports whether a member states what calls cost.
func isPriceName(name string) bool {
	switch strings.ToLower(name) {
	case "price", "prices", "pricing", "cost", "costs", "fee", "fees":
		return true
	}
	return false
}

// price is one amount of money for a number of things: 2 USD for 1000 calls.
type price struct {
	node     *protocol.Node
	key      string // what tells it apart from the other prices of one place
	amount   *big.Rat
	currency string
	unit     string
}

// comparePrices compares two statements of prices. Either may be nil.
func (c *comparison) comparePrices(operation string, na, nb *protocol.Node) {
	a, b := newPriceList(na), newPriceList(nb)
	for _, x := range a.prices {
		y, ok := b.findPrice(x.key)
		if !ok {
			c.comparePriceGone(operation, x, b.others.removeName(x.key))
			continue
		}
		// Amounts of two currencies, or for two things, cannot be compared: callers have to look.
		unlike := x.currency != y.currency || x.unit != y.unit && (x.amount.Sign() != 0 || y.amount.Sign() != 0)
		switch order := x.amount.Cmp(y.amount); {
		case unlike || order < 0:
			c.addChange(PriceRaised, operation, x.value(), y.value())
		case order > 0:
			c.addChange(PriceLowered, operation, x.value(), y.value())
		}
	}
	for _, y := range b.prices {
		if _, ok := a.findPrice(y.key); ok {
			continue
		}
		before := a.others.removeName(y.key)
		switch {
		case y.amount.Sign() > 0:
			c.addChange(PriceRaised, operation, valueOf(before), y.value())
		case before != nil:
			c.addChange(PriceLowered, operation, valueOf(before), y.value())
		default:
			c.addChange(TextChanged, operation, value{}, y.value())
		}
	}
	a.others.eachWith(b.others, func(key string, x, y *protocol.Node) { // allowances and texts
		if !equalValues(x, y) {
			c.compareAllowance(operation, key, x, y)
		}
	})
}

// comparePriceGone records an amount that was removed. A text without an amount has taken its
// place, so callers have to look.
func (c *comparison) comparePriceGone(operation string, x price, text *protocol.Node) {
	switch {
	case text != nil:
		c.addChange(PriceRaised, operation, x.value(), valueOf(text))
	case x.amount.Sign() == 0:
		c.addChange(TextChanged, operation, valueOf(x.node), value{})
	default:
		c.addChange(PriceLowered, operation, valueOf(x.node), value{})
	}
}

// compareAllowance compares a member beside the amounts: the amount that is free of charge, or a text.
func (c *comparison) compareAllowance(operation, key string, a, b *protocol.Node) {
	x, y := numberOf(a), numberOf(b)
	if !containsAny(strings.ToLower(key), "free", "included", "quota", "credit", "allowance") || x == nil && y == nil {
		c.addChange(kindOfMember(key, a, b), operation, valueOf(a), valueOf(b))
		return
	}
	kind := LimitRaised
	if x != nil && (y == nil || y.Cmp(x) < 0) {
		kind = LimitLowered
	}
	c.addChange(kind, operation, valueOf(a), valueOf(b))
}

func numberOf(n *protocol.Node) *big.Rat {
	if n == nil || n.Kind != protocol.Number && n.Kind != protocol.String {
		return nil
	}
	return parseNumber(strings.TrimSpace(n.Text))
}

func (p price) value() value {
	text := p.amount.FloatString(exactDecimals(p.amount))
	if p.currency != "" {
		text += " " + p.currency
	}
	if p.unit != "" {
		text += " per " + p.unit
	}
	return textValue(p.node, text)
}

// exactDecimals returns the number of decimals that show an amount without loss, at most twelve.
func exactDecimals(r *big.Rat) int {
	for n := range 12 {
		scaled := new(big.Rat).Mul(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)))
		if scaled.IsInt() {
			return n
		}
	}
	return 12
}

// priceList holds the prices in one place of a document, and the other members there.
type priceList struct {
	prices []price
	others namedNodes
}

func (l priceList) findPrice(key string) (price, bool) {
	for _, p := range l.prices {
		if p.key == key {
			return p, true
		}
	}
	return price{}, false
}

func newPriceList(n *protocol.Node) priceList {
	var l priceList
	l.readPrice(n, "", "", "")
	return l
}

func (l *priceList) readPrice(n *protocol.Node, key, currency, unit string) {
	if n = nilIfNull(n); n == nil {
		return
	}
	switch n.Kind {
	case protocol.Object:
		for _, m := range n.Items {
			switch strings.ToLower(m.Key) {
			case "currency", "currency_code":
				currency = currencyName(m.Str())
			case "per", "unit", "model", "interval", "period", "billing":
				unit = unitName(m.Text)
			}
		}
		for _, m := range n.Items {
			switch strings.ToLower(m.Key) {
			case "currency", "currency_code", "per", "unit", "model", "interval", "period", "billing":
			case "amount", "value", "price":
				l.readPrice(m, key, currency, unit)
			default:
				l.readPrice(m, key+"/"+m.Key, currency, unit)
			}
		}
	case protocol.Array:
		for _, item := range n.Items {
			l.readPrice(item, key+"/"+item.Member("name").Str()+item.Member("operation").Str()+item.Member("id").Str(), currency, unit)
		}
	default:
		l.readAmount(n, key, currency, unit)
	}
}

func (l *priceList) readAmount(n *protocol.Node, key, currency, unit string) {
	p, ok := parsePrice(n.Text)
	isText := n.Kind == protocol.String
	if n.Kind != protocol.Number && !isText || !ok || containsAny(strings.ToLower(key), "free", "included", "quota", "credit", "allowance", "trial") {
		l.others.addNode(key, n)
		return
	}
	p.node, p.key = n, key
	p.currency = cmp.Or(p.currency, currency)
	p.unit = cmp.Or(p.unit, unit)
	p.amount, p.unit = pricePerUnit(p.amount, p.unit)
	l.prices = append(l.prices, p)
}

var priceText = regexp.MustCompile(`^([\p{Sc}]|[A-Za-z]{3})?\s*([0-9][0-9.,]*|\.[0-9]+)\s*([\p{Sc}]|[A-Za-z]{3})?\s*(?:(?:/|per)\s*(.+))?$`)

// parsePrice reads an amount as people write it: "0.01", "$0.01", "2 EUR per 1000 calls", "free".
func parsePrice(text string) (price, bool) {
	text = strings.TrimSpace(text)
	if strings.EqualFold(text, "free") {
		return price{amount: new(big.Rat)}, true
	}
	m := priceText.FindStringSubmatch(text)
	if m == nil {
		if r := parseNumber(text); r != nil {
			return price{amount: r}, true
		}
		return price{}, false
	}
	amount := parseNumber(strings.ReplaceAll(m[2], ",", ""))
	if amount == nil {
		return price{}, false
	}
	return price{amount: amount, currency: currencyName(m[1] + m[3]), unit: unitName(m[4])}, true
}

var currencySigns = map[string]string{"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₩": "KRW", "₹": "INR"}

func currencyName(s string) string {
	if name := currencySigns[s]; name != "" {
		return name
	}
	return strings.ToUpper(strings.TrimSpace(s))
}

// unitName returns the thing that a price is for, in its simplest form.
func unitName(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	s = strings.TrimPrefix(strings.ReplaceAll(s, "_", " "), "per ")
	words := strings.Fields(s)
	for i, w := range words {
		switch w = strings.TrimSuffix(w, "s"); w {
		case "call", "request", "query", "invocation":
			w = "call"
		}
		words[i] = w
	}
	return strings.Join(words, " ")
}

// pricePerUnit converts a price for many units to the price of one: 2 for "1000 calls" is 0.002 for
// a call.
func pricePerUnit(amount *big.Rat, unit string) (*big.Rat, string) {
	many, rest, found := strings.Cut(unit, " ")
	if !found {
		return amount, unit
	}
	count := parseNumber(strings.ReplaceAll(many, ",", ""))
	switch many {
	case "thousand", "1k":
		count = big.NewRat(1000, 1)
	case "million", "1m":
		count = big.NewRat(1000000, 1)
	}
	if count == nil || count.Sign() <= 0 {
		return amount, unit
	}
	return new(big.Rat).Quo(amount, count), rest
}
