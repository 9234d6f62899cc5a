package workload

import "math/rand/v2"

// Bytes returns a source of chance from bytes. Each byte decides one draw, so a fuzzer that changes one byte changes
// one decision. After the last byte, the source continues, with the same draws for the same bytes.
func Bytes(data []byte) *rand.Rand { return rand.New(&bytesSource{data: data}) }

type bytesSource struct {
	data  []byte
	drawn uint64
}

// Uint64 spreads a byte over all 64 bits (splitmix64), since rand takes its bits from either end.
func (s *bytesSource) Uint64() uint64 {
	z := s.drawn + 1<<8
	if s.drawn < uint64(len(s.data)) {
		z = uint64(s.data[s.drawn])
	}

	s.drawn++

	z = (z + 1) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
