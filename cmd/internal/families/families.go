// Package families reads the metrics of a scheduler.
package families

import (
	"errors"
	"io"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// Read reads metrics in the text format, and returns the families by name. It uses a decoder,
// because releases of Volcano need releases of the library with different constructors of the
// parser.
func Read(text io.Reader) (map[string]*dto.MetricFamily, error) {
	families := map[string]*dto.MetricFamily{}
	for decoder := expfmt.NewDecoder(text, expfmt.NewFormat(expfmt.TypeTextPlain)); ; {
		var family dto.MetricFamily
		if err := decoder.Decode(&family); errors.Is(err, io.EOF) {
			return families, nil
		} else if err != nil {
			return nil, err
		}

		families[family.GetName()] = &family
	}
}
