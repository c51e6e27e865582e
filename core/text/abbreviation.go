package text

import "strings"

// When an abbreviation ends no sentence.
type when int

const (
	never        when = iota // it is none
	always                   // something follows: "Dr."
	beforeNumber             // a number follows: "No. 5"
	perhapsLast              // it may be the last word of a sentence, and may not: "etc."
)

// rules are what is known of a language.
type rules struct {
	tables   []*abbreviations
	ordinals bool // a dot after a number makes it an ordinal
}

// abbreviations of a language, without the dot at the end, in lower case.
type abbreviations struct{ always, beforeNumber, perhapsLast string }

// english abbreviations appear in all languages, with names and places.
var english = abbreviations{
	always: " mr mrs ms mx dr prof st rev hon gov sen rep gen col maj capt cmdr lt sgt pres supt messrs mt ft vs viz cf ca approx ed eds dept univ assn ",
	beforeNumber: " no nos nr vol vols p pp par para fig figs ch chap sec eq art ver ext tel jan feb mar apr jun jul aug sep sept oct nov dec " +
		"max min ",
	perhapsLast: " etc inc ltd co corp jr sr esq al ave blvd bros llc plc rd ",
}

var german = abbreviations{
	always: " hr fr frl dipl ing dr prof bspw bzw ca evtl ggf inkl exkl lt mind sog vgl zzgl abzgl st geb gest hrsg verl allg bes insb " +
		"österr dt engl frz lat usf mag med phil jur rer nat habil theol pol oec ",
	beforeNumber: " nr nrn abb tab bd bde kap abs art ziff anm jan febr feb mär apr aug sept okt nov dez tel max min ",
	perhapsLast:  " usw etc mio mrd jh jhd jhdt str ff co ",
}

var french = abbreviations{
	always:       " mm mme mmes mlle mlles mgr dr pr prof st ste cf env av apr éd boul bd ex vs c-à-d ",
	beforeNumber: " chap fig p pp art vol n no tél janv févr avr juil sept oct nov déc ",
	perhapsLast:  " etc cie ",
}

var spanish = abbreviations{
	always:       " sr sra srta sres sras dr dra dres dña prof profa lic ing arq excmo excma ilmo ilma ee gral cnel cap tte sto sta av avda aprox ",
	beforeNumber: " núm num nº pág págs pag art arts vol fig cap tel tfno ",
	perhapsLast:  " etc ud uds vd vds cía uu ",
}

var portuguese = abbreviations{
	always:       " sr sra srs sras srta dr dra drs prof profa profª eng exmo exma ilmo ilma pe av aprox obs ",
	beforeNumber: " núm num nº pág págs pag art arts vol fig cap tel séc ",
	perhapsLast:  " etc ltda cia ",
}

var italian = abbreviations{
	always:       " sig sigg sig.ra dott dr prof ing avv arch geom rag on sen egr gent spett ca cfr es ss ",
	beforeNumber: " pag pagg art artt cap vol fig tel num sec ",
	perhapsLast:  " ecc etc ",
}

var russian = abbreviations{
	always:       " гл ул кв им проф акад доц см ср напр обл пер пл просп наб св гр тов г-н г-жа рис табл ",
	beforeNumber: " стр ст рис табл пп тел ",
	perhapsLast:  " др пр тыс млн млрд трлн руб коп гг вв н.э т.д т.п ",
}

// byLanguage has the tables of a language besides the English one; nil for those that write no abbreviations of their own.
var byLanguage = map[string]*abbreviations{
	"english": nil, "chinese": nil, "japanese": nil, "korean": nil, "beijing_dialect": nil, "sichuan_dialect": nil,
	"german": &german, "french": &french, "spanish": &spanish, "portuguese": &portuguese, "italian": &italian, "russian": &russian,
}

// rulesOf returns those of a language; if it is not known, those of all.
func rulesOf(language string) rules {
	table, known := byLanguage[language]
	switch {
	case !known:
		return rules{[]*abbreviations{&english, &german, &french, &spanish, &portuguese, &italian, &russian}, true}
	case table == nil:
		return rules{[]*abbreviations{&english}, false}
	}
	return rules{[]*abbreviations{table, &english}, language == "german"}
}

// abbreviation tells whether a word that a dot follows is an abbreviation, and of which kind. What is elided before it
// does not count: "l'avv."
func (r rules) abbreviation(word string) when {
	if i := strings.LastIndexAny(word, "'’"); i >= 0 {
		word = strings.TrimLeft(word[i:], "'’")
	}
	key := " " + strings.ToLower(word) + " "
	found := never
	for _, t := range r.tables {
		switch {
		case strings.Contains(t.always, key):
			return always
		case strings.Contains(t.perhapsLast, key):
			found = perhapsLast
		case found == never && (strings.Contains(t.beforeNumber, key) || t == &german && strings.HasSuffix(key, "str ")):
			found = beforeNumber // Hauptstr. 5
		}
	}
	return found
}
