private let bindKey: BTHomeKey = given()
private let address: [UInt8] = given()
