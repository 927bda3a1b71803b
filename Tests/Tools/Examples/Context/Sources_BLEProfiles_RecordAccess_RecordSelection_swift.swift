private let meter: Peripheral = given()
private let last: UInt16 = given()
