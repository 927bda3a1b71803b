private let host: PeripheralHost = given()
