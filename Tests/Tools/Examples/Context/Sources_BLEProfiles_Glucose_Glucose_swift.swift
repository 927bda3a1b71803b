private let meter: Peripheral = given()
