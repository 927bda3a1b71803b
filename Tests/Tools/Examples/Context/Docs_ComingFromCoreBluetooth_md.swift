private let packets: [[UInt8]] = given()
