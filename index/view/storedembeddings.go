package view

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unsafe"

	"gazetteer/document"
	"gazetteer/index/bitset"
	"gazetteer/index/damage"
	"gazetteer/index/entry"
	"gazetteer/index/semantic"
	"gazetteer/index/tokens"
	"gazetteer/internal/psl"

	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/mmap-go"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// To derive the data of a large segment takes longer than anything else when an index is opened,
// and takes most of its memory. So the embeddings, the list of the entries and the vocabulary are
// written to a file beside the file of their segment, which is mapped into memory. A file that is
// missing, damaged or made for something else is made again.

// The sizes from which these files are written: of an index, and of a segment of such an index. A
// smaller index opens in two seconds and would be twice as large on disk.
const (
	storedIndexEntries   = 1 << 18
	storedSegmentEntries = 1 << 14
)

// embeddingsSuffix is added to the name of a segment's file.
const embeddingsSuffix = ".embeddings"

// embeddingsForm is the version of the file and of the computation of embeddings: increase it when one
// of them changes.
const embeddingsForm = 4

// An embeddingsHeader is the beginning of a file, in the byte order of the machine.
type embeddingsHeader struct {
	Form, Table  uint32 // embeddingsForm, and the checksum of the table of words
	SegmentSize  int64  // of the segment's file in bytes
	SegmentSum   uint32 // which ends the segment's file
	Entries, Dim uint32
	Clusters     uint32
	Sum          uint32 // CRC-32C of the rest of the file
	storedLengths
}

// storedLengths has the lengths of those sections that the other fields of a header do not tell.
type storedLengths struct {
	Rows, Members   uint32 // operations, and those in clusters
	Runs, RunText   uint32
	Stems, StemText uint32
	_               [2]uint32
}

// A storedRun is the stored form of a [DocumentRun]. Its texts follow one another in a section.
type storedRun struct {
	Start, OperationsEnd, End uint32
	Host, Kind, Fingerprint   uint16 // their lengths
	_                         uint16
}

const headerBytes = int(unsafe.Sizeof(embeddingsHeader{}))

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// embeddingsFile returns the file of a segment's derived data, "" if the segment has no file
// itself, and the header that the file must have except for the lengths, the sum, and what
// [embeddingsHeader.withLexicon] adds. The file of a
// segment that was merged into another may be gone while a view still reads the segment, which is
// mapped into memory.
func embeddingsFile(s *scorch.SegmentSnapshot) (string, embeddingsHeader, error) {
	h := embeddingsHeader{Form: embeddingsForm, Entries: uint32(s.FullSize())}
	persisted, ok := s.Segment().(segment.PersistedSegment)
	if !ok {
		return "", h, nil
	}
	f, err := os.Open(persisted.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return "", h, nil
	}
	if err != nil {
		return "", h, err
	}
	defer f.Close() // only read
	info, err := f.Stat()
	if err != nil {
		return "", h, err
	}
	var sum [4]byte
	if _, err := f.ReadAt(sum[:], info.Size()-int64(len(sum))); err != nil {
		return "", h, err
	}
	h.SegmentSize, h.SegmentSum = info.Size(), binary.BigEndian.Uint32(sum[:])
	return persisted.Path() + embeddingsSuffix, h, nil
}

// withLexicon adds the lexicon to the header of a file. It reads the table of the lexicon, which takes
// longer than opening a small index without such a file.
func (h embeddingsHeader) withLexicon(l *semantic.Lexicon) embeddingsHeader {
	h.Table, h.Dim, h.Clusters = l.Checksum(), uint32(l.Table().Dim()), uint32(len(l.Centroids()))
	return h
}

// A mappedFile is a file that is mapped while data refers to it.
type mappedFile struct{ bytes mmap.MMap }

// sections returns the stored slices of a segment's derived data in the order of a file, which
// keeps each aligned, and their lengths.
func (d *SegmentData) sections() ([][]byte, storedLengths) {
	m, e := d.Meanings, d.segmentEntries
	var runs []storedRun
	var texts []byte
	for _, r := range e.Runs {
		runs = append(runs, storedRun{
			Start: r.start, OperationsEnd: r.operationsEnd, End: r.end,
			Host: uint16(len(r.Host)), Kind: uint16(len(r.Kind)), Fingerprint: uint16(len(r.Fingerprint)),
		})
		texts = append(append(append(texts, r.Host...), r.Kind...), r.Fingerprint...)
	}
	lengths := storedLengths{
		Rows: uint32(len(m.Scales)), Members: uint32(len(m.Clusters.numbers)),
		Runs: uint32(len(runs)), RunText: uint32(len(texts)),
		Stems: uint32(len(d.vocabulary.starts)), StemText: uint32(len(d.vocabulary.text)),
	}
	return [][]byte{
		bytesOf(m.Doubtful), bytesOf(e.Operations), bytesOf(e.Services), bytesOf(e.classes), bytesOf(m.Clusters.codes),
		bytesOf(m.Clusters.numbers), bytesOf(m.Clusters.from), bytesOf(m.Scales), bytesOf(e.numbers), bytesOf(e.RunOf),
		bytesOf(runs), bytesOf(d.vocabulary.starts), bytesOf(e.ordinal), bytesOf(m.Vectors), texts, d.vocabulary.text,
	}, lengths
}

func bytesOf[T any](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(*new(T))))
}

// mapSegment maps the stored data of a segment. The error is fs.ErrNotExist if there is none, and
// any other if it cannot be used.
func mapSegment(name string, want embeddingsHeader, l *semantic.Lexicon) (*SegmentData, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // the mapping remains
	if info, err := f.Stat(); err != nil || info.Size() < int64(headerBytes) {
		return nil, errors.Join(errStored, err)
	}
	mapped, err := mmap.Map(f, mmap.RDONLY, 0)
	if err != nil {
		return nil, err
	}
	file := &mappedFile{mapped}
	d, err := file.readSegment(want.withLexicon(l))
	if err != nil {
		return nil, errors.Join(err, mapped.Unmap())
	}
	runtime.AddCleanup(file, func(mapped mmap.MMap) { _ = mapped.Unmap() }, mapped)
	return d, nil
}

var errStored = errors.New("the stored embeddings are damaged, or of another version or segment")

// readSegment returns the data in the bytes of a file.
func (file *mappedFile) readSegment(want embeddingsHeader) (*SegmentData, error) {
	h := *(*embeddingsHeader)(unsafe.Pointer(unsafe.SliceData(file.bytes)))
	want.storedLengths, want.Sum = h.storedLengths, h.Sum
	if h != want || h.Sum != crc32.Checksum(file.bytes[headerBytes:], castagnoli) {
		return nil, errStored
	}
	n, left := int(h.Entries), []byte(file.bytes[headerBytes:])
	m := &SegmentEmbeddings{Dim: int(h.Dim), mapped: file}
	e := &segmentEntries{mapped: file}
	d := &SegmentData{segmentEntries: e, Meanings: m}
	var runs []storedRun
	m.Doubtful, left = takeSlice[uint64](left, bitset.Words(n))
	e.Operations, left = takeSlice[uint64](left, bitset.Words(n))
	e.Services, left = takeSlice[uint64](left, bitset.Words(n))
	e.classes, left = takeSlice[uint64](left, bitset.Words(n))
	m.Clusters.codes, left = takeSlice[semantic.SignCode](left, int(h.Members))
	m.Clusters.numbers, left = takeSlice[uint32](left, int(h.Members))
	m.Clusters.from, left = takeSlice[uint32](left, int(h.Clusters)+1)
	m.Scales, left = takeSlice[float32](left, int(h.Rows))
	e.numbers, left = takeSlice[uint32](left, n)
	e.RunOf, left = takeSlice[uint32](left, n)
	runs, left = takeSlice[storedRun](left, int(h.Runs))
	d.vocabulary.starts, left = takeSlice[uint32](left, int(h.Stems))
	e.ordinal, left = takeSlice[uint16](left, n)
	m.Vectors, left = takeSlice[int8](left, int(h.Rows)*m.Dim)
	texts, left := string(left[:h.RunText]), left[h.RunText:] // answers keep parts of it: it is not mapped
	d.vocabulary.text, d.vocabulary.mapped = left[:h.StemText], file
	m.numberRows(e.Operations)
	take := func(n uint16) (text string) {
		text, texts = texts[:n], texts[n:]
		return text
	}
	for _, r := range runs {
		of := entry.Source{Host: take(r.Host), Kind: document.Kind(take(r.Kind))}
		e.Runs = append(e.Runs, DocumentRun{
			Source: of, Fingerprint: take(r.Fingerprint), hostHash: tokens.HashText(of.Host), domain: psl.Registered(of.Host),
			start: r.Start, operationsEnd: r.OperationsEnd, end: r.End,
		})
	}
	e.joinNonOperations()
	return d, nil
}

// takeSlice returns the first n values in bytes, and the remaining bytes. The sum of the file says that
// there are that many.
func takeSlice[T any](left []byte, n int) ([]T, []byte) {
	size := n * int(unsafe.Sizeof(*new(T)))
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(left))), n), left[size:]
}

// storeSegment writes derived data to a file and maps it.
func storeSegment(d *SegmentData, name string, h embeddingsHeader, l *semantic.Lexicon) (*SegmentData, error) {
	h = h.withLexicon(l)
	sections, lengths := d.sections()
	h.storedLengths = lengths
	for _, s := range sections {
		h.Sum = crc32.Update(h.Sum, castagnoli, s)
	}
	unfinished := name + ".new"
	f, err := os.OpenFile(unfinished, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(bytesOf([]embeddingsHeader{h}))
	for _, s := range sections {
		if err == nil {
			_, err = f.Write(s)
		}
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(unfinished, name)
	}
	if err != nil {
		os.Remove(unfinished) // the first error says more
		return nil, fmt.Errorf("store embeddings: %w", err)
	}
	return mapSegment(name, h, l)
}

// readSegmentData returns the stored data of a segment, or its entries alone if none is stored. why
// tells why the stored data of a large segment cannot be used.
func (l *Directory) readSegmentData(s *scorch.SegmentSnapshot) (d *SegmentData, why error, err error) {
	name, h, err := embeddingsFile(s)
	if err != nil {
		return nil, nil, damage.Errorf("the file of segment %d: %v", s.Id(), err)
	}
	if name != "" {
		if d, why = mapSegment(name, h, l.lexicon); why == nil {
			return d, nil, nil
		}
	}
	entries, err := readEntries(s)
	if err != nil {
		return nil, nil, err
	}
	if len(entries.numbers) < min(storedSegmentEntries, l.StoredFrom) {
		why = nil
	}
	return &SegmentData{segmentEntries: entries}, why, nil
}

// prepareEmbeddings adds the embeddings and the vocabulary of a segment to its data. If the index
// and the segment are large, it stores all data and maps these two. A disk that takes no file
// leaves them in memory.
func (l *Directory) prepareEmbeddings(s *scorch.SegmentSnapshot, d *SegmentData, indexEntries int) (err error) {
	if d.Meanings, d.vocabulary, err = readEmbeddings(s, d.segmentEntries, l.lexicon, l.formerEmbeddingsOf); err != nil {
		return err
	}
	if indexEntries < l.StoredFrom || len(d.numbers) < min(storedSegmentEntries, l.StoredFrom) {
		return nil
	}
	name, h, err := embeddingsFile(s)
	if err != nil {
		return damage.Errorf("the file of segment %d: %v", s.Id(), err)
	}
	if name == "" {
		return nil
	}
	if stored, err := storeSegment(d, name, h, l.lexicon); err == nil {
		d.Meanings, d.vocabulary = stored.Meanings, stored.vocabulary // other views read the entries
	}
	return nil
}

// RemoveFormerEmbeddings removes the stored embeddings of segments whose files are gone.
func (l *Directory) RemoveFormerEmbeddings() {
	files, _ := filepath.Glob(filepath.Join(l.path, "store", "*"+embeddingsSuffix+"*")) // the pattern is a constant
	for _, name := range files {
		of, _, _ := strings.Cut(name, embeddingsSuffix)
		if _, err := os.Stat(of); os.IsNotExist(err) {
			os.Remove(name) // or at the next time
		}
	}
}
