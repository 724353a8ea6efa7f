"""First and last names of the hospital sample, roughly from the most to the least common."""

from __future__ import annotations

__all__ = ["FIRST_NAMES", "LAST_NAMES"]

_WOMEN = """
Mary Patricia Jennifer Linda Elizabeth Barbara Susan Jessica Sarah Karen Emily Maria Nancy Margaret
Lisa Sandra Ashley Kimberly Donna Michelle Carol Amanda Melissa Deborah Stephanie Rebecca Laura Helen
Sharon Cynthia Anna Kathleen Amy Angela Ruth Brenda Pamela Nicole Olivia Emma Sophia Isabella Mia
Charlotte Amelia Grace Chloe Victoria Hannah Abigail Samantha Rachel Carolyn Janet Virginia Catherine
Heather Diane Julie Joyce Evelyn Joan Kelly Christina Martha Frances Alice Judith Doris Julia Gloria
Teresa Rosa Carmen Ana Lucia Sofia Elena Fatima Aisha Leila Priya Mei Yuki Ingrid Astrid Beatriz
Camila Valentina Daniela Gabriela Andrea Irene Clara Eva Nora Rose Edith Esther Miriam Naomi Ines
Zoe Ivy Hazel Violet Luna Stella Lucy Ella Lily Nadia Olga Svetlana Chiara Giulia Amina Zainab Ngozi
"""

_MEN = """
James Robert John Michael David William Richard Joseph Thomas Charles Christopher Daniel Matthew
Anthony Mark Donald Steven Paul Andrew Joshua Kenneth Kevin Brian George Timothy Ronald Edward Jason
Jeffrey Ryan Jacob Gary Nicholas Eric Jonathan Stephen Larry Justin Scott Brandon Benjamin Samuel
Gregory Frank Alexander Raymond Patrick Jack Dennis Jerry Tyler Aaron Jose Adam Nathan Henry Douglas
Zachary Peter Kyle Noah Ethan Jeremy Walter Christian Keith Roger Terry Austin Sean Gerald Carl Harold
Dylan Arthur Lawrence Jordan Jesse Bryan Billy Bruce Gabriel Joe Logan Alan Juan Albert Willie Elijah
Wayne Randy Vincent Mason Roy Ralph Bobby Russell Philip Eugene Luis Carlos Miguel Antonio Diego
Mateo Omar Ahmed Ali Hassan Ibrahim Wei Hiroshi Arjun Ravi Sanjay Lars Erik Hans Marco Luca Ivan
Dmitri Pavel Kwame Chidi Emeka Oscar Leo Hugo Felix Max Theo Simon Martin Victor
"""

_FAMILIES = """
Smith Johnson Williams Brown Jones Garcia Miller Davis Rodriguez Martinez Hernandez Lopez Gonzalez Wilson
Anderson Thomas Taylor Moore Jackson Martin Lee Perez Thompson White Harris Sanchez Clark Ramirez Lewis
Robinson Walker Young Allen King Wright Scott Torres Nguyen Hill Flores Green Adams Nelson Baker Hall
Rivera Campbell Mitchell Carter Roberts Gomez Phillips Evans Turner Diaz Parker Cruz Edwards Collins Reyes
Stewart Morris Morales Murphy Cook Rogers Gutierrez Ortiz Morgan Cooper Peterson Bailey Reed Kelly Howard
Ramos Kim Cox Ward Richardson Watson Brooks Chavez Wood James Bennett Gray Mendoza Ruiz Hughes Price
Alvarez Castillo Sanders Patel Myers Long Ross Foster Jimenez Powell Jenkins Perry Russell Sullivan Bell
Coleman Butler Henderson Barnes Fisher Vasquez Simmons Graham Murray Ford Castro Marshall Owens Harrison
Fernandez McDonald Woods Washington Kennedy Wells Vargas Chen Freeman Webb Tucker Guzman Burns Crawford
Olson Simpson Porter Hunter Gordon Mendez Silva Shaw Snyder Mason Dixon Munoz Hunt Hicks Holmes Palmer
Wagner Black Robertson Boyd Stone Salazar Fox Warren Mills Meyer Rice Schmidt Daniels Ferguson Nichols
Stephens Soto Weaver Ryan Gardner Payne Grant Dunn Kelley Spencer Hawkins Arnold Pierce Hansen Peters
Santos Hart Bradley Knight Elliott Cunningham Duncan Armstrong Hudson Carroll Lane Riley Andrews Alvarado
Ray Delgado Berry Perkins Hoffman Johnston Matthews Pena Richards Contreras Willis Carpenter Lawrence
Sandoval Guerrero George Chapman Rios Estrada Ortega Watkins Greene Nunez Wheeler Valdez Harper Burke
Larson Santiago Maldonado Morrison Franklin Carlson Austin Dominguez Carr Lawson Jacobs Singh Lynch Vega
Bishop Montgomery Oliver Jensen Harvey Williamson Gilbert Dean Sims Espinoza Howell Wong Hanson Hale
Khan Cohen Park Wang Ali Tran Yamamoto Novak Kowalski Ivanov Rossi Okafor Mensah Haddad Larsen Fischer
O'Brien O'Connor Dubois Moreau Costa Ferreira Petrov Kaplan Levy Ahmed Hussein Sato Tanaka Huang Zhang
"""

FIRST_NAMES: dict[str, tuple[str, ...]] = {"F": tuple(_WOMEN.split()), "M": tuple(_MEN.split())}

LAST_NAMES: tuple[str, ...] = tuple(_FAMILIES.split())
