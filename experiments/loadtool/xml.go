package loadtool

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
)

const jmeterXML = "JMeter XML"

// parseXML reads a .jtl with an element for each sample. Samples inside samples are parts of them,
// and not read.
func parseXML(text []byte) (Record, error) {
	decoder := xml.NewDecoder(bytes.NewReader(text))
	root, err := open(decoder)
	if err != nil || root.Name.Local != "testResults" {
		return Record{}, errForeign
	}
	var samples []sample
	for {
		token, err := decoder.Token()
		if err != nil {
			return Record{}, damaged(jmeterXML, "%w", err)
		}
		switch element := token.(type) {
		case xml.StartElement:
			if name := element.Name.Local; name == "httpSample" || name == "sample" {
				s, err := sampleOf(element)
				if err != nil {
					return Record{}, damaged(jmeterXML, "%w", err)
				}
				samples = append(samples, s)
			}
			if err := decoder.Skip(); err != nil {
				return Record{}, damaged(jmeterXML, "%w", err)
			}
		case xml.EndElement: // of the root
			if _, err := open(decoder); !errors.Is(err, io.EOF) {
				return Record{}, errSeveral
			}
			return record(jmeterXML, samples)
		}
	}
}

// open finds the next element outside of any other.
func open(decoder *xml.Decoder) (xml.StartElement, error) {
	for {
		token, err := decoder.Token()
		if err != nil {
			return xml.StartElement{}, err
		}
		if element, ok := token.(xml.StartElement); ok {
			return element, nil
		}
	}
}

func sampleOf(element xml.StartElement) (sample, error) {
	attribute := map[string]string{}
	for _, a := range element.Attr {
		attribute[a.Name.Local] = a.Value
	}
	return newSample(attribute["lb"], attribute["rc"], attribute["rm"], attribute["t"], attribute["ng"])
}
