private let initPacket: [UInt8] = given()
