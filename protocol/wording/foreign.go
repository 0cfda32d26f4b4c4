package wording

import (
	"strings"

	"gazetteer/protocol/english"
)

// foreignVerbs are the English verbs of forms with which descriptions in other languages begin, in the
// third person, as an infinitive or as a request. A general dictionary translates nouns well and verbs
// less so, and a verb decides more.
var foreignVerbs = readForms(
	// German
	"book: bucht buchen reserviert reservieren vereinbaren", "cancel: storniert stornieren annulliert kündigt kündigen widerruft absagen", "delete: löscht löschen", "remove: entfernt entfernen", "create: erstellt erstellen erzeugt erzeugen anlegen legt", "change: ändert ändern", "update: aktualisiert aktualisieren bearbeitet bearbeiten",
	"find: sucht suchen findet finden", "list: listet auflisten", "show: zeigt zeigen anzeigen ansehen abrufen abfragen einsehen liefert liefern gibt nennt ermittelt", "send: sendet senden schickt schicken versendet verschickt übermittelt", "pay: bezahlt bezahlen zahlt zahlen begleicht", "transfer: überweist überweisen überträgt", "order: bestellt bestellen", "buy: kauft kaufen",
	"sell: verkauft verkaufen", "rate: bewertet bewerten", "check: prüft prüfen überprüft", "calculate: berechnet berechnen", "translate: übersetzt übersetzen", "lock: sperrt sperren verriegelt", "unlock: entsperrt entsperren entriegelt", "open: öffnet öffnen", "close: schließt schließen", "rent: mietet mieten", "extend: verlängert verlängern",
	"confirm: bestätigt bestätigen", "approve: genehmigt genehmigen", "reject: lehnt verweigert", "register: registriert registrieren", "upload: lädt hochladen", "download: herunterladen", "subscribe: abonniert abonnieren", "redeem: einlösen", "request: anfordern anfragen beantragt beantragen", "save: speichert speichern", "report: meldet melden", "start: startet starten", "stop: stoppt stoppen beendet beenden", "refund: erstattet erstatten", "publish: veröffentlicht veröffentlichen", "activate: aktiviert aktivieren", "deactivate: deaktiviert deaktivieren", "add: hinzufügen fügt",
	// French
	"book: réserve réserver", "cancel: annule annuler résilie résilier", "delete: supprime supprimer efface effacer", "remove: retire retirer enlève enlever", "create: crée créer", "change: modifie modifier", "update: actualise", "find: cherche chercher recherche rechercher trouve trouver", "list: liste lister", "show: affiche afficher indique indiquer montre renvoie renvoyer retourne donne fournit",
	"send: envoie envoyer transmet transmettre expédie", "pay: paie paye payer règle régler", "order: commande commander", "buy: achète acheter", "sell: vend vendre", "rate: évalue noter", "check: vérifie vérifier", "calculate: calcule calculer", "translate: traduit traduire", "refund: rembourse rembourser", "confirm: confirme confirmer", "approve: approuve approuver",
	"reject: refuse refuser rejette", "register: inscrit inscrire", "publish: publie publier", "open: ouvre ouvrir", "close: ferme fermer", "rent: loue louer", "lock: verrouille bloque", "unlock: déverrouille débloque", "transfer: vire transfère transférer", "save: enregistre enregistrer", "start: démarre démarrer lance", "stop: arrête arrêter", "activate: active activer", "deactivate: désactive désactiver", "add: ajoute ajouter", "extend: prolonge prolonger renouvelle renouveler", "request: demande demander",
	// Spanish and Portuguese. Nouns such as agenda and marca are left out.
	"book: reserva reservar", "cancel: cancela cancelar anula anular", "delete: borra borrar elimina eliminar apaga apagar exclui excluir suprime", "remove: quita quitar remove remover", "create: crea crear cria criar", "change: cambia cambiar modifica modificar altera alterar muda", "update: actualiza actualizar atualiza atualizar",
	"find: busca buscar encuentra encontrar encontra", "list: lista listar", "show: muestra mostrar mostra devuelve devolver obtiene obtener indica exibe retorna consulta consultar obtém", "send: envía enviar envia manda", "pay: paga pagar", "order: pide pedir encarga encomenda", "buy: compra comprar adquiere adquirir", "sell: vende vender", "rate: valora valorar califica avalia",
	"check: comprueba verifica verificar", "calculate: calcula calcular", "translate: traduce traducir traduz traduzir", "refund: reembolsa reembolsar", "confirm: confirma confirmar", "approve: aprueba aprobar aprova aprovar", "reject: rechaza rechazar rejeita rejeitar", "register: registra registrar", "publish: publica publicar", "open: abre abrir", "close: cierra cerrar fecha fechar",
	"rent: alquila alquilar aluga alugar", "lock: bloquea bloquear bloqueia", "unlock: desbloquea desbloquear desbloqueia", "transfer: transfiere transferir transfere", "save: guarda guardar salva", "start: inicia iniciar", "stop: detiene detener parar", "activate: activa activar ativa ativar", "deactivate: desactiva desactivar desativa desativar", "upload: sube subir", "download: descarga descargar baixa baixar descarrega descarregar",
	"find: pesquisa pesquisar procura procurar", "extend: renova renovar renueva prorroga prorrogar amplía ampliar", "book: agendar marcar", "request: solicita solicitar requisita requisitar", "register: regista registar inscribe inscribir inscreve inscrever cadastra cadastrar",
	"add: añade añadir agrega agregar adiciona adicionar acrescenta", "subscribe: suscribe suscribir subscreve subscrever", "report: denuncia denunciar comunica comunicar",
	// Italian. Nouns such as valuta are left out.
	"book: prenota prenotare", "cancel: annulla annullare disdice disdire", "delete: cancella cancellare eliminare", "remove: rimuove rimuovere", "create: creare", "change: modificare cambiare", "update: aggiorna aggiornare", "find: cerca cercare trova trovare", "list: elenca elencare", "show: mostrare visualizza visualizzare restituisce fornisce ottiene",
	"send: invia inviare spedisce", "pay: pagare", "order: ordina ordinare", "buy: comprare acquista acquistare", "sell: vendere", "rate: valutare", "check: verificare controlla controllare", "calculate: calcola calcolare", "translate: tradurre", "refund: rimborsa rimborsare", "confirm: conferma confermare", "approve: approva approvare", "reject: rifiuta rifiutare",
	"register: registrare iscrive iscrivere", "publish: pubblica pubblicare", "open: apre aprire", "close: chiude chiudere", "rent: noleggia noleggiare affitta affittare", "lock: blocca bloccare", "unlock: sblocca sbloccare", "transfer: trasferisce trasferire", "save: salvare", "start: avvia avviare", "stop: ferma fermare", "activate: attiva attivare", "deactivate: disattiva disattivare",
	"upload: carica caricare", "download: scarica scaricare", "extend: rinnova rinnovare prolunga prolungare", "request: richiede richiedere", "report: segnala segnalare", "add: aggiunge aggiungere",
	// Dutch. Boeken are books as well.
	"book: boekt reserveert reserveren", "cancel: annuleert annuleren", "remove: verwijdert verwijderen", "create: maakt aanmaken", "change: wijzigt wijzigen", "update: bijwerken", "find: zoekt zoeken vindt vinden opzoeken", "show: toont tonen weergeven haalt ophalen geeft bekijken", "send: stuurt sturen verstuurt versturen verzendt", "pay: betaalt betalen",
	"order: bestelt", "buy: koopt kopen", "sell: verkoopt verkopen", "rate: beoordeelt beoordelen", "check: controleert controleren", "calculate: berekent berekenen", "translate: vertaalt vertalen", "refund: terugbetalen", "confirm: bevestigt bevestigen", "reject: weigert weigeren", "register: registreert registreren", "rent: huurt huren",
	"extend: verlengt verlengen", "request: aanvragen", "report: meldt", "add: toevoegen", "upload: uploaden", "download: downloaden",
)

// finalVerbs are the English verbs of the stems with which sentences in Japanese and Korean end. A stem
// behind another one decides: what is called a reservation may be deleted.
var finalVerbs = readForms(
	"book: 予約し 予約する 예약합 예약한 예약하", "cancel: 取り消 取消 キャンセル 解約 취소 철회 해지", "delete: 削除 消去 삭제 지웁", "remove: 取り除 除去 제거", "create: 作成 生成 登録簿を作 만듭 만든 생성 작성", "change: 変更 변경 바꿉", "update: 更新 編集 업데이트 수정 갱신", "find: 検索 探し 探す 調べ 見つけ 검색 찾습 찾는", "show: 表示 示し 返し 返す 取得 照会 一覧 知らせ 보여 알려 조회 표시 반환 가져",
	"send: 送信 送り 送る 送付 보냅 보낸 전송 발송", "pay: 支払 払い 지불 결제 납부", "order: 注文 주문합 주문한 주문하", "buy: 購入 買い 買う 구매 구입 삽니", "sell: 販売 売却 판매", "rate: 評価 평가", "check: 確認 点検 확인 점검", "calculate: 計算 계산", "translate: 翻訳 번역", "refund: 返金 払い戻 환불", "approve: 承認 승인", "reject: 拒否 却下 거절 거부 반려",
	"register: 登録 등록", "publish: 公開 게시 공개", "open: 開き 開く 엽니 열어", "close: 閉じ 閉め 닫습", "lock: ロック 施錠 잠급 잠금 잠가", "unlock: 解錠 ロック解除 잠금을해제 잠금해제", "record: 記録 기록", "save: 保存 저장", "start: 開始 시작", "stop: 停止 終了 中止 정지 중지 종료", "transfer: 振り込 送金 移動 이체 송금", "upload: アップロード 업로드", "download: ダウンロード 다운로드", "share: 共有 공유", "report: 報告 신고 보고", "extend: 延長 연장", "rent: 借り 빌립 대여",
)

// readForms returns the word of each form of lines such as "word: form form".
func readForms(lines ...string) map[string]string {
	of := map[string]string{}
	for _, line := range lines {
		word, forms, _ := strings.Cut(line, ":")
		for form := range strings.FieldsSeq(forms) {
			of[form] = word
		}
	}
	return of
}

// ForeignVerb returns the English main verb of a text in another language and the text without it,
// "" if the verb is unknown. Some English words are forms of foreign verbs as well ("retire"), so the
// caller knows that the text is not English.
func ForeignVerb(text string) (verb, rest string) {
	first, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	if verb = foreignVerbs[strings.ToLower(first)]; verb != "" {
		return verb, rest
	}
	if verb, rest := germanInfinitive(text); verb != "" {
		return verb, rest
	}
	end, length := 0, 0
	for stem, v := range finalVerbs {
		if at := strings.LastIndex(text, stem); at >= 0 && (at+len(stem) > end || at+len(stem) == end && len(stem) > length) {
			end, length = at+len(stem), len(stem)
			verb, rest = v, text[:at]
		}
	}
	if verb == "" {
		return "", text
	}
	return verb, rest
}

// germanInfinitive returns the English verb of a title such as "Buchung stornieren", and the text
// without it; "" if there is none. Its noun, here a booking, can look like a verb. A German noun
// begins with an uppercase letter.
func germanInfinitive(text string) (verb, rest string) {
	title, more, _ := strings.Cut(strings.TrimSpace(text), ". ")
	title = strings.TrimRight(title, ".")
	space := strings.LastIndexByte(title, ' ')
	last := title[space+1:]
	if space < 0 || !strings.HasSuffix(last, "en") && !strings.HasSuffix(last, "ern") || foreignVerbs[last] == "" {
		return "", text
	}
	return foreignVerbs[last], strings.TrimSpace(title[:space] + ". " + more)
}

// verbOfForeignSummary returns the English verb of a summary in another language, "" for a summary that
// may be English and for an unknown verb.
func verbOfForeignSummary(summary string) string {
	first, _ := firstWord(strings.ToLower(summary))
	if verb, _ := germanInfinitive(summary); verb != "" {
		return verb
	}
	if english.Lookup(first).Known() || len(english.Base(first)) > 0 {
		return ""
	}
	verb, _ := ForeignVerb(summary)
	return verb
}
