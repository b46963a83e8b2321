"""Plain word lists, the commonest first, from which `lexicon` makes its vocabularies."""

from __future__ import annotations

__all__ = ["ARABIC", "CHINESE", "ENGLISH", "GERMAN", "GERMAN_PARTS", "GREEK"]

ENGLISH = """
the of and a to in he was that it his is had with as for on at her by from they she not were be or an but which him this one
have are you all their when who there been no more out up said what so yes about into than them can only other new time some
could these two then do may first any my now such like our over man me even most made after also did many before must through
back years where much your way well down should because each just those people too little state good very make world still own
see men work long get here between both life being under never day same another know while last might us great old year off
come since against go came right used take three states himself few house use during without again place American around however
home small found thought went say part once general high upon school every war until always away something fact though water less
public put think almost hand enough far took head yet government system better set told nothing night end why called didn't eyes
find going look asked later knew next week give group toward young days let room present side social several given possible order
often national face important big second among early black church city white river four red blue green tree horse ship train
captain doctor teacher mother father brother sister child children boy girl king queen dog cat bird fish apple bread garden
mountain valley island village station market library museum theater hospital factory bridge street road window door table chair
letter book story song picture paper clock kite lamp boat coat 1 2 3 4 5 7 10 12 20 50 100 1,000 1914 1945 1969 1989 1998 2001
2012 2020 $5 3.5 60% U.S. U.K. Mr. Mrs. Dr. St. London Paris Berlin Rome Vienna Boston Chicago Texas England France Germany
Italy Spain China Japan India Africa Europe America John Mary Anna Peter Thomas Sarah David Emma Henry Alice Monday Tuesday
Friday Saturday Sunday January March April June July August October November December don't can't wasn't it's o'clock e-mail
well-known twenty-one half-past co-operate unknown
"""

GERMAN = """
der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er hat dass sie
nach wird bei einer um am sind noch wie einem über einen so zum haben nur oder aber vor zur bis mehr durch man sein
wurde können gegen vom ja nein schon wenn habe seine Jahr Jahre ihre dann unter wir soll ich eines Jahren zwei jedoch
seit größte größten Städte König Königin früher später während zurück außerdem gehört übernahm größer Straße Fluss
Gebäude Universität Länder Europäische möglich Österreich München Köln Zürich Düsseldorf Nürnberg Lübeck Würzburg
Tübingen „Berlin“ „Fräulein“ ‚Nein‘ Mäuse Bäcker Höhe Größe Süden Norden Osten Westen Fußball Maßstab weiß heiß groß
süß Äpfel Öl Übung 1871 1945 1990 3,5 24 50 € % Dr. z. B. u. a. bzw. Müller Schäfer Jäger Förster Türme Brücke Küste
Wälder Dörfer Märkte Schlösser Flüsse Züge Schüler Lehrer Ärzte Bücher – Märchen
"""

GERMAN_PARTS = "stadt brücken straßen küsten wälder schüler bücher märchen größen höhen königs fluss schloss kirchen länder zug"

GREEK = """
και το της να του η με για που στην ο τα στο από είναι την οι στη δεν ένα θα μια των σε τις αυτό ως τη ότι αλλά τον
πως χρόνια πόλη Αθήνα Ελλάδα θάλασσα ουρανός άνθρωπος γυναίκα παιδί σπίτι δρόμος νερό φως ψωμί βιβλίο σχολείο δάσκαλος
Οδυσσέας Σωκράτης οδός λόγος ήλιος χώρα νησί βουνό ποταμός καλός μεγάλος μικρός νέος παλιός λευκός μαύρος πρώτος
δεύτερος τρίτος ναι όχι ίσως πάντα ποτέ σήμερα χθες αύριο πρωί βράδυ μέρα νύχτα έτος αιώνας πόλεμος ειρήνη βασιλιάς
ιστορία τέχνη μουσική θέατρο ποίηση φιλοσοφία ΕΛΛΑΣ ΟΔΟΣ ΝΑΟΣ
"""

ARABIC = """
في من على إلى أن عن مع هذا التي كان ما لا هو كل بعد هذه قد بين كانت أو هي ذلك لم قبل عام حيث يوم مدينة القاهرة بغداد
دمشق البحر الجبل النهر الكتاب المدرسة المعلم الطفل الرجل المرأة البيت الشارع الماء الخبز الشمس القمر السماء الأرض
الحرب السلام الملك التاريخ الفن الموسيقى الشعر العلم العالم الدولة الحكومة الجامعة المستشفى السوق القرية الجزيرة كبير
صغير جديد قديم أول ثاني ثالث نعم لا ربما دائما أبدا اليوم أمس غدا صباحا مساء ليلا سنة قرن مُحَمَّد كِتَاب عَرَبِيّ
١٩٩٨ ٢٠٢٠ لماذا؟ أين؟ العربية، المصرية،
"""

CHINESE = """
的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所
民得经十三之进着等部度家电力里如水化高自二理起小物现实加量都两体制机当使点从业本去把性好应开它合还因由其些然前外天政四日
那社义事平形相全表间样与关各重新线内数正心反你明看原又么利比或但质气第向道命此变条只没结解问意建月公无系军很情者最立代想
已通并提直题党程展五果料象员革位入常文总次品式活设及管特件长求老头基资边流路级少图山统接知较将组见计别她手角期根论运农指
几九区强放决西被干做必战先回则任取据处府研片北京上海长城故宫，。、“”《》？
"""
