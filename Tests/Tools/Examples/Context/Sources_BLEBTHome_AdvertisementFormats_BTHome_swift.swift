private let bindKey: BTHomeKey = given()
