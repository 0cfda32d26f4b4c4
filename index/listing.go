package index

import (
	"context"
	"slices"

	"gazetteer/index/query"
	"gazetteer/index/view"
)

// Namespaces returns all namespaces that qualify verbs (AGIS §8.2), sorted. Documents that a search
// does not return (aliases, superseded ones) do not count.
func (x *Index) Namespaces(ctx context.Context) ([]view.ValueCount, error) {
	return x.listValues(ctx, query.NamespaceField)
}

// DataClasses returns all data classes that services say they hold (AGIS §8.3), sorted. The same
// documents count as for [Index.Namespaces].
func (x *Index) DataClasses(ctx context.Context) ([]view.ValueCount, error) {
	return x.listValues(ctx, query.ClassField)
}

func (x *Index) listValues(ctx context.Context, field string) ([]view.ValueCount, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var values []view.ValueCount
	err := x.withSnapshot(func(v *view.View, _ uint64) (err error) {
		values, err = v.CountValues(field)
		return err
	})
	return slices.Clone(values), err
}

// A ValueCount is one value of a listing, with the number of operations and of services that have
// it.
type ValueCount = view.ValueCount

// A Count says how many operations of a result have a value.
type Count = view.Count
