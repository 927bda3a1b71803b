private let (trainer, meter): (Peripheral, Peripheral) = given()
private let lastSeen: UInt16 = given()
