private let parts: [IndoorBikeData] = given()
