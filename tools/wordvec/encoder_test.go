package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// smallEncoder writes an encoder of the form of the real one, with pieces of 8
// numbers and texts of 16.
func smallEncoder(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	const in, dim, inner = 8, 16, 48
	pieces := [][2]any{}
	for i := range firstPiece {
		pieces = append(pieces, [2]any{fmt.Sprintf("<%d>", i), 0})
	}
	pieces = append(pieces, [2]any{"▁book", -2}, [2]any{"▁", -1}, [2]any{"ing", -1.5}, [2]any{"book", -3}, [2]any{"▁car", -2.5})
	for c := 'a'; c <= 'z'; c++ {
		pieces = append(pieces, [2]any{string(c), -4})
	}
	type weight struct {
		Name  string `json:"name"`
		Shape []int  `json:"shape"`
	}
	var weights []weight
	var data []byte
	add := func(name string, shape ...int) {
		n := 1
		for _, s := range shape {
			n *= s
		}
		for i := range n {
			x := float32((i*7919+len(weights)*104729)%2003)/2003 - .5
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
		}
		weights = append(weights, weight{name, shape})
	}
	add("module/Encoder_en/KonaTransformer/Embeddings_en", len(pieces)+2, in)
	const apply = "module_apply_default/Encoder_en/"
	add(apply+"KonaTransformer/Encode/TransformerStack/Layer_0/AddTimingSignal/TimingSignal/ExpandDims_1", 1, in/2)
	const encode = apply + "KonaTransformer/Encode/"
	for i, from := range []int{in, dim} {
		own := fmt.Sprintf("%sLayer_%d/TransformerLayer/", encode, i)
		add(own+"layer_prepostprocess/layer_norm/layer_norm_scale/ConcatPartitions/concat", from)
		add(own+"layer_prepostprocess/layer_norm/layer_norm_bias/ConcatPartitions/concat", from)
		add("module"+strings.TrimPrefix(own, "module_apply_default")+"MultiheadAttention/qkv_transform_single/kernel/part_0", 1, 1, from, 3*from)
		add(own+"MultiheadAttention/qkv_transform_single/bias/ConcatPartitions/concat", 3*from)
		add(own+"MultiheadAttention/output_transform_single/kernel/part_0", 1, 1, from, dim)
		add(own+"MultiheadAttention/output_transform_single/bias/ConcatPartitions/concat", dim)
		if i == 0 {
			add(own+"dense/kernel/ConcatPartitions/concat", from, dim)
			add(own+"dense/bias/ConcatPartitions/concat", dim)
		}
		add(own+"FFN/layer_prepostprocess/layer_norm/layer_norm_scale/ConcatPartitions/concat", dim)
		add(own+"FFN/layer_prepostprocess/layer_norm/layer_norm_bias/ConcatPartitions/concat", dim)
		stack := fmt.Sprintf("%sTransformerStack/Layer_%d/TransformerLayer/FFN/", encode, i)
		add(stack+"conv1/Tensordot/Reshape_1", dim, inner)
		add(own+"FFN/conv1/bias/ConcatPartitions/concat", inner)
		add(stack+"conv2/Tensordot/Reshape_1", inner, dim)
		add(own+"FFN/conv2/bias/ConcatPartitions/concat", dim)
	}
	add("module/Encoder_en/hidden_layers/tanh_layer_0/weights", dim, dim)
	add("module/Encoder_en/hidden_layers/tanh_layer_0/bias", dim)
	write := func(name string, content []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	half := len(data) / 8 * 4
	write("group1-shard1of2", data[:half])
	write("group1-shard2of2", data[half:])
	model, err := json.Marshal(map[string]any{"weightsManifest": []any{
		map[string]any{"paths": []string{"group1-shard1of2", "group1-shard2of2"}, "weights": weights},
	}})
	if err != nil {
		t.Fatal(err)
	}
	write("model.json", model)
	vocabulary, err := json.Marshal(pieces)
	if err != nil {
		t.Fatal(err)
	}
	write("vocab.json", vocabulary)
	return dir
}

func TestEncoder(t *testing.T) {
	dir := smallEncoder(t)
	e, err := openEncoder(dir)
	if err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string][]int32{
		"book":    {6},
		"booking": {6, 8},
		"ebook":   {7, 15, 9}, // e, book
		"é":       {7, unknown, unknown},
	} {
		if got := e.cut(word); !slices.Equal(got, want) {
			t.Errorf("%s is cut into %v, want %v", word, got, want)
		}
	}
	words := []string{"book", "booking", "car", "ebook"}
	got := e.texts(words, 2)
	// What another program, which was held against the package's own code with the
	// real tensors, makes of the same files: the first numbers of each.
	for i, want := range [][]float32{
		{.00013, .01448, .13892, -.42146, -.43388, -.44338, -.31460, -.06059},
		{-.05365, .11664, .09880, -.39420, -.39999, -.40446, -.29495, -.08051},
		{-.02089, -.01878, -.00282, -.33240, -.34560, -.35358, -.29467, .18100},
		{-.00974, -.08597, -.06908, -.45181, -.46241, -.47155, -.18272, .20589},
	} {
		for k, x := range want {
			if y := got[i*e.dim+k]; max(x-y, y-x) > 2e-5 {
				t.Errorf("number %d of %s is %v, want %v", k, words[i], y, x)
			}
		}
	}
}

func TestMissingEncoder(t *testing.T) {
	dir := smallEncoder(t)
	for file, change := range map[string][2]string{
		"model.json":       {`"name":"module/Encoder_en/hidden_layers/tanh_layer_0/bias"`, `"name":"other"`},
		"vocab.json":       {"[[", "["},
		"group1-shard1of2": {"", ""},
	} {
		name := filepath.Join(dir, file)
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		broken := strings.Replace(string(whole), change[0], change[1], 1)
		if change[0] == "" {
			broken = broken[:8]
		}
		if err := os.WriteFile(name, []byte(broken), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := openEncoder(dir); err == nil {
			t.Errorf("%s was read, broken", file)
		}
		if err := os.WriteFile(name, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
